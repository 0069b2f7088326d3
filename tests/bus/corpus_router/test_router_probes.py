"""`decide` that has degraded backends probed first: what it plans from is what the probe found."""

import nats
import pytest

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.classification import QueryClassified, QueryShape
from fanfuse_contracts.config import FanfuseConfig, RetrievalConfig
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import BackendHealth, Kind, Shape
from fanfuse_contracts.health import BackendState, ProbeReply, ProbeRequest
from fanfuse_contracts.plan import DecideReply
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_corpus_router.service import build
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.flow import eventually

CARD = CorpusCard(
    tenant="acme",
    corpus="docs",
    public=True,
    backends=tuple(Wiring(kind=kind, backend="main", pool="main") for kind in (Kind.KEYWORD, Kind.GRAPH)),
)
DEGRADED, HEALTHY = BackendHealth.DEGRADED, BackendHealth.HEALTHY


class Health:
    """Answers wishes for a probe as told, or not at all."""

    def __init__(self, client, states) -> None:
        self.client = client
        self.states = states
        self.asked: list[tuple[str, str]] = []
        self.finds = HEALTHY
        self.answers = True

    async def hear(self, msg) -> None:
        self.asked.append((msg.subject, ProbeRequest.from_json(msg.data).by))
        if self.answers:
            revision = await set_state(self.states, self.finds, version=2)
            await msg.respond(ProbeReply(state=self.finds, probed=True, revision=revision).to_json())


async def set_state(states, health: BackendHealth, version: int) -> int:
    state = BackendState(kind=Kind.KEYWORD, backend="main", state=health, version=version, since="now")
    revision: int = await states.put(streams.backend_key(Kind.KEYWORD, "main"), state.to_json())
    return revision


@pytest.fixture
async def decide(nats_server):
    """A function that decides with the option on or off; it returns the kinds of the plan's lanes."""
    client = await nats.connect(nats_server.url)

    async def run(on: bool, finds: BackendHealth, answers: bool) -> tuple[set[Kind], list[tuple[str, str]]]:
        config = FanfuseConfig(retrieval=RetrievalConfig(probe_on_decide=on))
        settings = RuntimeSettings(nats_url=nats_server.url)
        async with compose(build, settings=settings, config=config) as process:
            js = client.jetstream()
            states = await js.key_value(streams.BACKEND_STATE.name)
            await set_state(states, DEGRADED, version=1)
            corpora = await js.key_value(streams.CORPORA.name)
            await corpora.put(streams.corpus_key(CARD.tenant, CARD.corpus), CARD.to_json())
            health = Health(client, states)
            health.finds, health.answers = finds, answers
            await client.subscribe(subjects.BACKEND_PROBE, cb=health.hear)
            await eventually(lambda: process.context.backends.unhealthy and process.context.corpora.of_tenant("acme"))
            request = classified(process.context.bus.now_ns())
            msg = await client.request(subjects.route_decide("acme"), request, timeout=30)
            plan = DecideReply.from_json(msg.data).plan
            assert plan is not None
            return {lane.kind for lane in plan.lanes}, health.asked

    yield run
    await client.close()


def classified(now_ns: int) -> bytes:
    return QueryClassified(
        tenant="acme",
        query_id="decide",
        query=AcceptedQuery(text="annual leave", graph_seeds=("leave",)),
        submitted_ns=now_ns,
        classification=QueryShape(shape=Shape.MIXED, reason="test"),
    ).to_json()


SUBJECT = subjects.backend_probe(Kind.KEYWORD, "main")


@pytest.mark.parametrize(
    ("on", "finds", "answers", "kinds", "asked"),
    [
        (True, HEALTHY, True, {Kind.KEYWORD, Kind.GRAPH}, [(SUBJECT, "decide")]),
        (True, DEGRADED, True, {Kind.GRAPH}, [(SUBJECT, "decide")]),
        (True, HEALTHY, False, {Kind.GRAPH}, [(SUBJECT, "decide")]),
        (False, HEALTHY, True, {Kind.GRAPH}, []),
    ],
    ids=["back", "still down", "no reply", "off"],
)
async def test_decide_plans_from_what_the_probe_found(decide, on, finds, answers, kinds, asked):
    assert await decide(on, finds, answers) == (kinds, asked)
