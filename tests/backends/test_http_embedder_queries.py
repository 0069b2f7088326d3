"""Query vectors from endpoints: each waits for no other, and one that is down costs a lane no more than its time."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from fanfuse_backend_workers.adapters.http_embedder import HttpEmbedder
from fanfuse_backend_workers.embedding import ENDPOINT_THREADS, MAX_WAITING, QueryEmbedding
from fanfuse_backend_workers.ports import Embedder, SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind
from tests.servers.embeddings import EmbeddingsStub, Fault

LOCAL = EmbedderSpec(model="local", dimensions=4)


class Local:
    model = "local"
    dimensions = 4
    languages: tuple[str, ...] | None = None

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0, 0.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture
def stub() -> Iterator[EmbeddingsStub]:
    stub = EmbeddingsStub().start()
    yield stub
    stub.stop()


@pytest.fixture
def embedding() -> Iterator[QueryEmbedding]:
    def load(spec: EmbedderSpec) -> Embedder:
        return Local() if spec.endpoint is None else HttpEmbedder(spec)

    embedding = QueryEmbedding(load, threads=1)
    yield embedding
    embedding.close()


def remote(stub: EmbeddingsStub, **change: Any) -> EmbedderSpec:
    return EmbedderSpec(**{"model": "stub-model", "dimensions": 4, "endpoint": stub.endpoint, **change})


async def kind_of(embedding: QueryEmbedding, spec: EmbedderSpec, text: str, timeout_s: float) -> FailureKind | None:
    try:
        await embedding.vector(spec, text, timeout_s)
    except SearchError as error:
        return error.kind
    return None


async def test_an_endpoint_that_hangs_keeps_nobody_from_another_embedder(
    stub: EmbeddingsStub, embedding: QueryEmbedding
) -> None:
    """HEA-05: its lanes fail `embedder` at the end of their time, also when more wait than there are threads."""
    stub.fault = Fault(delay_s=60, calls=None)
    waiting = [asyncio.create_task(kind_of(embedding, remote(stub), f"t{n}", 2.0)) for n in range(2 * ENDPOINT_THREADS)]
    await asyncio.sleep(0.05)
    assert await embedding.vector(LOCAL, "t", 5.0) == (1.0, 0.0, 0.0, 0.0)
    assert not any(one.done() for one in waiting)
    assert set(await asyncio.gather(*waiting)) == {FailureKind.EMBEDDER}


async def test_what_waits_for_an_endpoint_is_bounded(stub: EmbeddingsStub, embedding: QueryEmbedding) -> None:
    stub.fault = Fault(delay_s=60, calls=None)
    spec = remote(stub)
    waiting = [asyncio.create_task(kind_of(embedding, spec, f"t{n}", 2.0)) for n in range(MAX_WAITING)]
    await asyncio.sleep(0.05)
    assert await kind_of(embedding, spec, "one more", 30.0) is FailureKind.EMBEDDER
    assert not any(one.done() for one in waiting)
    await asyncio.gather(*waiting)


async def test_cards_that_differ_in_the_query_prefix_share_no_vector(
    stub: EmbeddingsStub, embedding: QueryEmbedding
) -> None:
    """And those that do not differ are embedded once."""
    specs = [remote(stub), remote(stub, query_prefix="eee "), remote(stub, languages=("en",)), remote(stub)]
    first, prefixed, third, fourth = [await embedding.vector(spec, "text", 5.0) for spec in specs]
    assert first == third == fourth
    assert first != prefixed
    assert [body["input"] for body in stub.bodies] == [["text"], ["eee text"]]


async def test_an_endpoint_that_recovers_is_used_again(
    stub: EmbeddingsStub, embedding: QueryEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfuse_backend_workers.adapters.http_embedder_pause.PAUSE_S", 0.1)
    stub.fault = Fault(500, calls=None)
    kinds = {await kind_of(embedding, remote(stub), f"t{number}", 5.0) for number in range(5)}
    assert kinds == {FailureKind.EMBEDDER}
    stub.fault = None
    await asyncio.sleep(0.2)
    assert await kind_of(embedding, remote(stub), "t", 5.0) is None


async def test_threads_of_an_endpoint_end_with_the_worker(stub: EmbeddingsStub, embedding: QueryEmbedding) -> None:
    await embedding.vector(remote(stub), "t", 5.0)
    mine = [thread for thread in threading.enumerate() if thread.name.startswith("embedder")]
    embedding.close()
    for thread in mine:
        thread.join(5)
    assert not any(thread.is_alive() for thread in mine)
