"""Any OpenAI-compatible endpoint as an embedder, over real sockets: what is sent, what is checked, what may fail."""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from fanfuse_backend_workers.adapters import http_embedder
from fanfuse_backend_workers.adapters.embedders import KEY_VARIABLE, build_embedder, key_of
from fanfuse_backend_workers.adapters.embedding_cache import CachedEmbedder, EmbeddingCache
from fanfuse_backend_workers.adapters.http_embedder import BATCH, HttpEmbedder
from fanfuse_backend_workers.adapters.http_embedder_pause import FAILURES, PAUSE_S, Pause
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind
from tests.servers.embeddings import DIMENSIONS, EmbeddingsStub, Fault, vector_of

KEY = "key-that-nobody-may-read"


@pytest.fixture
def stub() -> Iterator[EmbeddingsStub]:
    stub = EmbeddingsStub().start()
    yield stub
    stub.stop()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_embedder, "_FIRST_WAIT_S", 0.001)


def spec(stub: EmbeddingsStub, **change: Any) -> EmbedderSpec:
    return EmbedderSpec(**{"model": "stub-model", "dimensions": DIMENSIONS, "endpoint": stub.endpoint, **change})


def failure(call: Callable[[], object]) -> SearchError:
    with pytest.raises(SearchError) as raised:
        call()
    return raised.value


def unit(text: str) -> list[float]:
    vector = vector_of(text)
    return [value / math.hypot(*vector) for value in vector]


def test_texts_become_unit_vectors_in_their_order(stub: EmbeddingsStub) -> None:
    """More texts than a batch, answered in another order."""
    stub.change = lambda answer: {**answer, "data": answer["data"][::-1]}
    texts = ["e" * (number % 7 + 1) for number in range(2 * BATCH + 5)]
    made = HttpEmbedder(spec(stub)).embed_documents(texts)
    assert made == [pytest.approx(unit(text)) for text in texts]
    assert [len(body["input"]) for body in stub.bodies] == [BATCH, BATCH, 5]
    assert {(body["model"], body["encoding_format"]) for body in stub.bodies} == {("stub-model", "float")}
    assert HttpEmbedder(spec(stub)).embed_documents([]) == []


def test_prefixes_of_the_card_are_sent(stub: EmbeddingsStub) -> None:
    embedder = HttpEmbedder(spec(stub, query_prefix="query: ", document_prefix="passage: "))
    assert embedder.embed_query("what") == pytest.approx(unit("query: what"))
    assert embedder.embed_documents(["this"]) == [pytest.approx(unit("passage: this"))]
    assert [body["input"] for body in stub.bodies] == [["query: what"], ["passage: this"]]


def test_the_key_of_the_host_or_of_all_is_sent(stub: EmbeddingsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the environment; a key of one host is sent to no other."""
    monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")
    HttpEmbedder(spec(stub), key_of(stub.endpoint)).embed_query("a")
    monkeypatch.setenv(f"{KEY_VARIABLE}__127_0_0_1", "its-own")
    HttpEmbedder(spec(stub), key_of(stub.endpoint)).embed_query("a")
    monkeypatch.delenv(f"{KEY_VARIABLE}__127_0_0_1")
    monkeypatch.delenv(KEY_VARIABLE)
    HttpEmbedder(spec(stub), key_of(stub.endpoint)).embed_query("a")
    assert [headers.get("Authorization") for headers in stub.headers] == [f"Bearer {KEY}", "Bearer its-own", None]
    monkeypatch.setenv(f"{KEY_VARIABLE}__EMBED_EXAMPLE_ORG", "theirs")
    assert key_of("https://embed.example.org/v1") == SecretStr("theirs")
    assert key_of(stub.endpoint) is None
    monkeypatch.setenv(KEY_VARIABLE, "one\r\nX: two")
    refused = failure(lambda: key_of(stub.endpoint))
    assert (refused.kind, "two" in refused.message) == (FailureKind.CONFIG, False)


def test_no_message_repeats_key_text_or_the_endpoints_words(
    stub: EmbeddingsStub, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = HttpEmbedder(spec(stub), SecretStr(KEY))
    stub.fault = Fault(401, body=f"bad key {KEY} for a private text".encode())
    refused = failure(lambda: embedder.embed_query("a private text"))
    assert (refused.kind, "401" in refused.message) == (FailureKind.EMBEDDER, True)
    assert KEY not in f"{refused!r} {embedder.__dict__['_spec']!r} {caplog.text}"
    assert "private" not in f"{refused!r} {caplog.text}"


def test_a_redirect_is_not_followed(stub: EmbeddingsStub) -> None:
    """The key would go with it."""
    stub.fault = Fault(307, (("Location", stub.endpoint + "/embeddings"),), calls=None)
    assert "307" in failure(lambda: HttpEmbedder(spec(stub)).embed_query("a")).message
    assert len(stub.bodies) == 1


@pytest.mark.parametrize("size", [3, 5])
def test_another_size_is_a_fault_of_configuration_that_names_both(stub: EmbeddingsStub, size: int) -> None:
    """QDR-01: it stays one however often it is asked."""
    embedder = HttpEmbedder(spec(stub, dimensions=size))
    for _ in range(FAILURES + 2):
        refused = failure(lambda: embedder.embed_query("a"))
        assert refused.kind is FailureKind.CONFIG
        assert f"{DIMENSIONS} dimensions, the card says {size}" in refused.message


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ("stub-model", True),
        ("Stub-Model-v2-2026-01", True),
        ("provider/stub-model", True),
        ("", True),
        (None, True),
        (7, True),
        ("other-model", False),
        ("stub-mod", True),
        ("bge-m3", False),
    ],
)
def test_an_endpoint_that_serves_another_model_is_refused(stub: EmbeddingsStub, said: object, fits: bool) -> None:
    stub.change = lambda answer: {**answer, "model": said}
    embedder = HttpEmbedder(spec(stub))
    if fits:
        assert len(embedder.embed_query("a")) == DIMENSIONS
    else:
        refused = failure(lambda: embedder.embed_query("a"))
        assert (refused.kind, str(said) in refused.message) == (FailureKind.CONFIG, True)


BAD_ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no object": lambda answer: [answer],
    "no data": lambda answer: {"model": answer["model"]},
    "too few": lambda answer: {**answer, "data": answer["data"][1:]},
    "too many": lambda answer: {**answer, "data": [*answer["data"], {**answer["data"][0], "index": 9}]},
    "one twice": lambda answer: {**answer, "data": [answer["data"][0]] * 2},
    "empty": lambda answer: {**answer, "data": [{**one, "embedding": []} for one in answer["data"]]},
    "zero": lambda answer: {**answer, "data": [{**one, "embedding": [0.0] * 4} for one in answer["data"]]},
    "no number": lambda answer: {
        **answer,
        "data": [{**one, "embedding": [math.nan, 1.0, 1.0, 1.0]} for one in answer["data"]],
    },
    "endless": lambda answer: {
        **answer,
        "data": [{**one, "embedding": [math.inf, 1.0, 1.0, 1.0]} for one in answer["data"]],
    },
    "base64": lambda answer: {**answer, "data": [{**one, "embedding": "AACAPw=="} for one in answer["data"]]},
}


@pytest.mark.parametrize("change", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_an_answer_that_can_not_be_used_is_the_embedders_failure(
    stub: EmbeddingsStub, change: Callable[[dict[str, Any]], Any]
) -> None:
    """QDR-01, QDR-05: an empty vector never becomes size 0, nor a missing one that of another text."""
    stub.change = change
    refused = failure(lambda: HttpEmbedder(spec(stub)).embed_documents(["a", "b"]))
    assert refused.kind is FailureKind.EMBEDDER
    assert len(stub.bodies) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"data": [', b"[" * 100_000])
def test_an_answer_that_is_no_json_is_the_embedders_failure(stub: EmbeddingsStub, body: bytes) -> None:
    stub.fault = Fault(body=body)
    assert failure(lambda: HttpEmbedder(spec(stub)).embed_query("a")).kind is FailureKind.EMBEDDER


@pytest.mark.parametrize("fault", [Fault(429), Fault(503), Fault(500), Fault(cut=True)])
def test_a_failure_that_passes_is_not_seen(stub: EmbeddingsStub, fault: Fault) -> None:
    stub.fault = fault
    assert HttpEmbedder(spec(stub)).embed_query("a") == pytest.approx(unit("a"))
    assert len(stub.bodies) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 402, 422])
def test_what_does_not_pass_is_asked_once(stub: EmbeddingsStub, status: int) -> None:
    stub.fault = Fault(status, calls=None)
    refused = failure(lambda: HttpEmbedder(spec(stub)).embed_query("a"))
    assert (refused.kind, str(status) in refused.message) == (FailureKind.EMBEDDER, True)
    assert len(stub.bodies) == 1


def test_documents_are_tried_longer_than_queries(stub: EmbeddingsStub) -> None:
    stub.fault = Fault(503, calls=4)
    assert HttpEmbedder(spec(stub)).embed_documents(["a"]) == [pytest.approx(unit("a"))]
    stub.fault = Fault(503, calls=None)
    stub.bodies.clear()
    failure(lambda: HttpEmbedder(spec(stub)).embed_query("a"))
    assert len(stub.bodies) == 2


def test_a_time_to_come_again_beyond_the_limit_is_not_waited_for(stub: EmbeddingsStub) -> None:
    stub.fault = Fault(429, (("Retry-After", "60"),), calls=None)
    started = time.monotonic()
    failure(lambda: HttpEmbedder(spec(stub)).embed_query("a"))
    assert time.monotonic() - started < 30
    assert len(stub.bodies) == 1


@pytest.mark.parametrize("fault", [Fault(delay_s=60, calls=None), Fault(trickle=True, calls=None)])
def test_a_slow_endpoint_costs_no_more_than_the_limit(
    stub: EmbeddingsStub, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """One that sends nothing, and one that sends a byte now and then."""
    monkeypatch.setattr(http_embedder, "QUERY_S", 0.3)
    stub.fault = fault
    started = time.monotonic()
    assert failure(lambda: HttpEmbedder(spec(stub)).embed_query("a")).kind is FailureKind.EMBEDDER
    assert time.monotonic() - started < 30


def test_an_answer_without_end_is_refused(stub: EmbeddingsStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_embedder, "MAX_ANSWER_BYTES", 1_000)
    stub.fault = Fault(body=b" " * 1_000_000)
    assert "too much" in failure(lambda: HttpEmbedder(spec(stub)).embed_query("a")).message


def test_a_refused_connection_is_the_embedders_failure_and_queries_stop_waiting_for_it() -> None:
    """HEA-05: after three failures in a row the next ones fail without a call."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        embedder = HttpEmbedder(EmbedderSpec(model="m", dimensions=2, endpoint=endpoint))
        refused = [failure(lambda: embedder.embed_query("a")) for _ in range(FAILURES + 1)]
    assert {error.kind for error in refused} == {FailureKind.EMBEDDER}
    assert "asked again in a moment" in refused[-1].message
    assert "asked again in a moment" not in refused[-2].message


def test_a_pause_ends_with_one_call_that_succeeds() -> None:
    now = [0.0]
    pause = Pause(lambda: now[0])
    for _ in range(FAILURES):
        assert pause.let_in()
        pause.ended(failed=True)
    assert not pause.let_in()
    now[0] = PAUSE_S
    assert (pause.let_in(), pause.let_in()) == (True, False)
    pause.ended(failed=True)
    assert not pause.let_in()
    now[0] = 2 * PAUSE_S
    assert pause.let_in()
    pause.ended(failed=False)
    assert (pause.let_in(), pause.let_in()) == (True, True)


def test_many_threads_share_one_embedder(stub: EmbeddingsStub) -> None:
    embedder, made = HttpEmbedder(spec(stub)), dict[str, list[float]]()

    def embed(text: str) -> None:
        made[text] = embedder.embed_query(text)

    threads = [threading.Thread(target=embed, args=("e" * number,)) for number in range(1, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert made == {text: pytest.approx(unit(text)) for text in ("e" * number for number in range(1, 25))}


def test_the_card_says_which_endpoint(stub: EmbeddingsStub) -> None:
    embedder = build_embedder(spec(stub))
    assert isinstance(embedder, HttpEmbedder)
    assert build_embedder(spec(stub)) is embedder
    assert build_embedder(spec(stub, query_prefix="q: ")) is not embedder
    assert len(embedder.embed_query("a")) == DIMENSIONS


def test_documents_with_another_prefix_are_embedded_anew(stub: EmbeddingsStub, tmp_path: Any) -> None:
    cache = EmbeddingCache(tmp_path / "cache.sqlite")
    for change in ({}, {"query_prefix": "q: "}, {"document_prefix": "d: "}, {}):
        CachedEmbedder(HttpEmbedder(spec(stub, **change)), cache).embed_documents(["text"])
    assert [body["input"] for body in stub.bodies] == [["text"], ["d: text"]]
    cache.close()


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "https://user:secret@example.org/v1"},
        {"endpoint": "https://example.org/v1?key=secret"},
        {"endpoint": "https://example.org/v1#x"},
        {"endpoint": "ftp://example.org"},
        {"endpoint": "https://"},
        {"endpoint": "https://example.org/a b"},
        {"query_prefix": "query: "},
        {"document_prefix": "passage: "},
        {"endpoint": "https://example.org/v1", "local": False},
    ],
)
def test_a_card_that_no_endpoint_fits_is_refused(change: dict[str, Any]) -> None:
    """No secret is on a card, and nothing is stated that has no effect."""
    with pytest.raises(ValidationError):
        EmbedderSpec(**{"model": "m", "dimensions": 4, **change})
