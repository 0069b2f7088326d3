"""Real engine servers behind the flow: each is killed in the middle of a load and started again on its data."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, Status
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library
from tests.flow.server_flow import answers_over, serving, write_config
from tests.servers.arcadedb import ArcadeDBServer, own_arcadedb
from tests.servers.neo4j import NEO4J_5, PASSWORD, Neo4jServer, own_neo4j
from tests.servers.opensearch import own_opensearch
from tests.servers.opensearch_release import OPENSEARCH_2

pytestmark = pytest.mark.engine

TENANT, CORPUS = "acme", "docs"
QUERIES = 500


class Killable(Protocol):
    def start(self) -> object: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


class Node(NamedTuple):
    """A server, and how the file names it."""

    name: str
    server: Killable
    kind: Kind
    stated: dict[str, Any]


def _opensearch() -> Node:
    server = own_opensearch(OPENSEARCH_2)
    return Node("OpenSearch", server, Kind.KEYWORD, {"engine": "opensearch", "url": server.url})


def _neo4j() -> Node:
    return _graph("Neo4j", own_neo4j(NEO4J_5))


def _arcadedb() -> Node:
    return _graph("ArcadeDB", own_arcadedb())


def _graph(name: str, server: Neo4jServer | ArcadeDBServer) -> Node:
    login = {"username": server.settings.username, "password": PASSWORD}
    return Node(name, server, Kind.GRAPH, {"engine": "neo4j", "url": server.settings.url, **login})


@pytest.fixture(params=[_opensearch, _neo4j, _arcadedb], ids=["opensearch", "neo4j", "arcadedb"])
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    started: Node = request.param()
    yield started
    started.server.close()


@pytest.fixture
async def flow(tmp_path: Path, node: Node) -> AsyncIterator[Flow]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FANFUSE_HEALTH_DEGRADED_FOR_S", "1")
        async with serving(tmp_path, write_config(tmp_path, {node.kind.value: {"main": node.stated}})) as running:
            await running.index(TENANT, CORPUS, library(), FIELDS)
            yield running


def lane(answer: Answer, kind: Kind) -> LaneOutcome | None:
    return next((lane.outcome for lane in answer.coverage.lanes if lane.kind is kind), None)


async def test_every_query_is_answered_while_the_node_dies_and_comes_back(
    flow: Flow, node: Node, say: Callable[[str], None]
) -> None:
    async with flow.client(TENANT) as client:

        async def ask(number: int = 0) -> Answer:
            return await client.ask(f"{QUESTION} {number}", corpora=(CORPUS,), graph_seeds=SEEDS, budget_ms=4_000)

        async def whole() -> bool:
            answer = await ask()
            return answer.status is Status.COMPLETE and lane(answer, node.kind) is LaneOutcome.ANSWERED

        await eventually(whole, 60, 0.2)  # a cold server is slow
        answers = await answers_over(ask, QUERIES, 8, ((150, node.server.kill), (300, node.server.start)))
        began = asyncio.get_running_loop().time()
        await eventually(whole, 30, 0.1)
        waited_s = asyncio.get_running_loop().time() - began

    seen = Counter(answer.status for answer in answers)
    told = {status.value: number for status, number in sorted(seen.items())}
    say(f"{node.name} killed and started again under {QUERIES} queries: {told}; whole {waited_s:.1f} s after its start")
    assert len(answers) == QUERIES
    assert set(seen) == {Status.COMPLETE, Status.PARTIAL}
    for answer in answers:
        assert answer.hits
        missing = {one.kind for one in answer.coverage.lanes if one.outcome is not LaneOutcome.ANSWERED}
        failures = {one.failure for one in answer.coverage.lanes if one.outcome is LaneOutcome.FAILED}
        assert failures <= {FailureKind.UNAVAILABLE, FailureKind.TIMEOUT}
        assert missing or answer.status is Status.COMPLETE
        assert not missing & {part.kind for hit in answer.hits for part in hit.contributions}
    assert any(lane(answer, node.kind) is not LaneOutcome.ANSWERED for answer in answers)
