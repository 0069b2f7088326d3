"""Engine servers that die and come back: every query is answered, what is missing is named, nothing is restarted."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import BackendHealth, FailureKind, FallbackReason, Kind, LaneOutcome, Status
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, library
from tests.flow.server_flow import (
    answers_over,
    backends_of,
    operating,
    services_on,
    serving,
    write_config,
)
from tests.servers.noida import NoidaServer
from tests.servers.qdrant import QdrantShim

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

TENANT, CORPUS = "acme", "docs"
QUERIES = 500
AT_ONCE = 8
BUDGET_MS = 4_000
BACK_WITHIN_S = 120.0
"""Printed, not asserted: a backend that fails again is left alone for twice as long."""


@pytest.fixture(scope="module", autouse=True)
def _short_degradation() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FANFUSE_HEALTH_DEGRADED_FOR_S", "1")
        yield


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def flow(
    tmp_path_factory: pytest.TempPathFactory, servers: tuple[QdrantShim, NoidaServer]
) -> AsyncIterator[Flow]:
    folder = tmp_path_factory.mktemp("outage")
    async with serving(folder, write_config(folder, backends_of(*servers))) as running:
        await running.index(TENANT, CORPUS, library(), FIELDS)
        yield running


async def ask(flow: Flow, number: int = 0) -> Answer:
    async with flow.client(TENANT) as client:
        return await client.ask(f"{QUESTION} {number}", corpora=(CORPUS,), budget_ms=BUDGET_MS)


def failed(answer: Answer) -> dict[Kind, FailureKind | None]:
    return {lane.kind: lane.failure for lane in answer.coverage.lanes if lane.outcome is LaneOutcome.FAILED}


async def complete(flow: Flow) -> bool:
    answer = await ask(flow)
    lanes = {lane.kind: lane.outcome for lane in answer.coverage.lanes}
    return answer.status is Status.COMPLETE and lanes.get(Kind.VECTOR) is LaneOutcome.ANSWERED


async def test_a_vector_server_that_dies_leaves_the_words_and_comes_back_by_itself(
    flow: Flow, servers: tuple[QdrantShim, NoidaServer], say: Callable[[str], None]
) -> None:
    """500 queries over a kill and a start of both servers, one after the other."""
    qdrant, search = servers
    async with flow.client(TENANT) as client:
        answers = await answers_over(
            lambda number: client.ask(f"{QUESTION} {number}", corpora=(CORPUS,), budget_ms=BUDGET_MS),
            QUERIES,
            AT_ONCE,
            ((100, qdrant.stop), (200, qdrant.start), (300, search.stop), (400, search.start)),
        )

    assert len(answers) == QUERIES
    seen = Counter(answer.status for answer in answers)
    say(f"{QUERIES} queries over two outages: {dict(sorted((s.value, n) for s, n in seen.items()))}")
    assert set(seen) <= {Status.COMPLETE, Status.PARTIAL, Status.FAILED}
    for answer in (answer for answer in answers if answer.status is Status.FAILED):
        # The second server may be gone before the first one is trusted again: then nobody is left to ask.
        outcomes = {lane.kind: lane.outcome for lane in answer.coverage.lanes}
        assert outcomes.pop(Kind.GRAPH) is LaneOutcome.SKIPPED_NO_INPUT, "the question names no entity"
        assert set(outcomes.values()) <= {LaneOutcome.FAILED, LaneOutcome.SKIPPED_UNHEALTHY}
        assert answer.rejection is not None
        assert answer.rejection.retryable
    without_vectors = [answer for answer in answers if answer.bm25_fallback]
    assert without_vectors
    for answer in without_vectors:
        assert answer.status is Status.PARTIAL
        assert answer.bm25_fallback_corpora == (CORPUS,)
        assert set(answer.bm25_fallback_reasons) <= {
            FallbackReason.FAILED,
            FallbackReason.DEGRADED,
            FallbackReason.TIMEOUT,
        }
        assert {part.kind for hit in answer.hits for part in hit.contributions} == {Kind.KEYWORD}
    for answer in answers:
        assert set(failed(answer).values()) <= {FailureKind.UNAVAILABLE, FailureKind.TIMEOUT}
        assert {hit.chunk_id for hit in answer.hits if not hit.text} == set(answer.missing_texts)
    assert sum(not answer.missing_texts for answer in answers) > QUERIES / 2, "a text that is late is named"
    states = [await flow.backend_state(f"{kind.value}.main") for kind in (Kind.VECTOR, Kind.KEYWORD)]
    assert all(state is not None and state.version > 1 for state in states), "both were known to be degraded"
    await eventually(lambda: complete(flow), BACK_WITHIN_S, 0.2)


async def test_a_server_that_is_back_is_used_within_seconds(
    flow: Flow, servers: tuple[QdrantShim, NoidaServer], say: Callable[[str], None]
) -> None:
    qdrant, _ = servers
    await eventually(lambda: complete(flow), BACK_WITHIN_S, 0.2)
    await asyncio.to_thread(qdrant.stop)

    async def degraded() -> bool:
        await ask(flow)
        state = await flow.backend_state("vector.main")
        return state is not None and state.state is BackendHealth.DEGRADED

    await eventually(degraded, BACK_WITHIN_S, 0.05)
    await asyncio.to_thread(qdrant.start)
    began = asyncio.get_running_loop().time()
    assert await eventually(lambda: complete(flow), BACK_WITHIN_S, 0.1)
    say(f"a vector server is used again {asyncio.get_running_loop().time() - began:.1f} s after its start")


async def test_workers_start_without_their_servers_and_serve_when_they_come(
    tmp_path: Path, servers: tuple[QdrantShim, NoidaServer], say: Callable[[str], None]
) -> None:
    """Ready at once, lanes `unavailable`; the first queries after the servers' start find everything."""
    qdrant, search = servers
    file, data = write_config(tmp_path, backends_of(*servers)), tmp_path / "data"
    with NatsServer(tmp_path / "nats") as bus:
        async with operating(bus.url, file, data) as operator:
            away = Flow(bus.url, data, operator, process=None)  # type: ignore[arg-type]
            await away.index("umbrella", CORPUS, library(), FIELDS)
            await asyncio.to_thread(qdrant.stop)
            await asyncio.to_thread(search.stop)
            try:
                async with services_on(bus.url, file, data) as process:
                    assert process.ready
                    async with away.client("umbrella") as client:
                        answer = await client.ask(QUESTION, budget_ms=BUDGET_MS)
                        assert set(failed(answer)) == {Kind.VECTOR, Kind.KEYWORD}, answer.coverage
                        assert set(failed(answer).values()) <= {FailureKind.UNAVAILABLE, FailureKind.TIMEOUT}
                        await asyncio.to_thread(qdrant.start)
                        await asyncio.to_thread(search.start)
                        began = asyncio.get_running_loop().time()

                        async def whole() -> bool:
                            found = await client.ask(QUESTION, budget_ms=BUDGET_MS)
                            return found.status is Status.COMPLETE and not found.bm25_fallback

                        await eventually(whole, BACK_WITHIN_S, 0.1)
                        say(f"served {asyncio.get_running_loop().time() - began:.1f} s after the servers' start")
            finally:
                if not qdrant._thread.is_alive():
                    qdrant.start()
                    search.start()
