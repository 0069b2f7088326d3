"""A real OpenSearch node behind the flow: it is killed in the middle of a load and started again on its data."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import pytest_asyncio

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, Status
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, library
from tests.flow.server_flow import answers_over, serving, write_config
from tests.servers.opensearch import OpenSearchServer, own_opensearch
from tests.servers.opensearch_release import OPENSEARCH_2

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TENANT, CORPUS = "acme", "docs"
QUERIES = 500


@pytest.fixture(scope="module")
def node() -> Iterator[OpenSearchServer]:
    server = own_opensearch(OPENSEARCH_2)
    yield server
    server.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def flow(tmp_path_factory: pytest.TempPathFactory, node: OpenSearchServer) -> AsyncIterator[Flow]:
    folder = tmp_path_factory.mktemp("opensearch")
    backends = {"keyword": {"main": {"engine": "opensearch", "url": node.url}}}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FANFUSE_HEALTH_DEGRADED_FOR_S", "1")
        async with serving(folder, write_config(folder, backends)) as running:
            await running.index(TENANT, CORPUS, library(), FIELDS)
            yield running


def lane(answer: Answer, kind: Kind) -> LaneOutcome | None:
    return next((lane.outcome for lane in answer.coverage.lanes if lane.kind is kind), None)


async def test_every_query_is_answered_while_the_node_dies_and_comes_back(
    flow: Flow, node: OpenSearchServer, say: Callable[[str], None]
) -> None:
    async with flow.client(TENANT) as client:

        async def ask(number: int = 0) -> Answer:
            return await client.ask(f"{QUESTION} {number}", corpora=(CORPUS,), budget_ms=4_000)

        async def whole() -> bool:
            answer = await ask()
            return answer.status is Status.COMPLETE and lane(answer, Kind.KEYWORD) is LaneOutcome.ANSWERED

        assert await whole()
        answers = await answers_over(ask, QUERIES, 8, ((150, node.kill), (300, node.start)))
        began = asyncio.get_running_loop().time()
        await eventually(whole, 30, 0.1)
        waited_s = asyncio.get_running_loop().time() - began

    seen = Counter(answer.status for answer in answers)
    told = {status.value: number for status, number in sorted(seen.items())}
    say(f"OpenSearch killed and started again under {QUERIES} queries: {told}; whole {waited_s:.1f} s after its start")
    assert len(answers) == QUERIES
    assert set(seen) == {Status.COMPLETE, Status.PARTIAL}
    for answer in answers:
        assert answer.hits
        failures = {one.failure for one in answer.coverage.lanes if one.outcome is LaneOutcome.FAILED}
        assert failures <= {FailureKind.UNAVAILABLE, FailureKind.TIMEOUT}
        if answer.status is Status.PARTIAL:
            assert {part.kind for hit in answer.hits for part in hit.contributions} == {Kind.VECTOR}
