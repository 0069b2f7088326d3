"""Decide and the flow give the same bytes, earlier decisions are stayed with, and what is told of each decision."""

import pytest
import structlog
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fanfuse_contracts import flow, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.capability import Capability
from fanfuse_contracts.classification import CorpusScore, Effect, FiredRule
from fanfuse_contracts.corpus import CorpusCard, FieldType, Wiring
from fanfuse_contracts.enums import BackendHealth, Kind, RejectionCode, Status, Strategy, UnconfirmedReason
from fanfuse_contracts.filters import Op
from fanfuse_contracts.operations import RouteAudited
from fanfuse_contracts.plan import DecideReply, QueryPlanned
from fanfuse_contracts.sticky import sticky_of
from fanfuse_corpus_router.service import build
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings
from tests.bus.corpus_router.conftest import RunningRouter


def card(corpus, **fields):
    stated = {"public": True} | fields
    return CorpusCard(
        tenant="acme",
        corpus=corpus,
        fields={"year": FieldType.INTEGER},
        can_answer=(Capability(name="leave", match_any=("leave",)),) if corpus != "c" else (),
        backends=tuple(
            Wiring(kind=kind, backend="main", pool="main", operators=frozenset(Op))
            for kind in (Kind.KEYWORD, Kind.GRAPH)
        ),
        **stated,
    )


CARDS = [card("a"), card("b"), card("c"), card("inner", public=False, readers=frozenset({"hr"}))]
SCORES = (
    CorpusScore(corpus="a", score=1.0, fired=(FiredRule(rule="money", effect=Effect.BOOST, amount=1.0),)),
    CorpusScore(corpus="b", score=2.0),
    CorpusScore(corpus="c", score=3.0, fired=(FiredRule(rule="no-c", effect=Effect.EXCLUDE),)),
)
QUERIES = {
    "free": {},
    "pinned": {"corpora": ("a", "inner", "nowhere")},
    "in person": {"principal": {"id": "bob", "roles": ("hr",)}, "corpora": ("inner",)},
    "stayed with": {"decision": {"shape": "semantic", "corpora": ({"corpus": "c", "weight": 0.4}, {"corpus": "b"})}},
    "named capability": {"capability": "leave"},
    "filtered": {"filter": {"field": "year", "op": "gte", "value": 2024}, "graph_seeds": ("Alice Smith",)},
}


async def decide(router, event):
    reply = await router.client.request(subjects.route_decide("acme"), event.to_json(), timeout=30)
    return DecideReply.from_json(reply.data)


async def planned(router, event):
    await router.submit(event)
    message = await router.stored(flow.PLANNED, subjects.query_planned("acme", event.query_id), QueryPlanned)
    return message.plan


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
async def test_decide_gives_the_bytes_of_the_plan_of_the_flow(router, query):
    await router.register(*CARDS)
    await router.set_health(Kind.GRAPH, "main", BackendHealth.DEGRADED, 1)
    event = router.classified("q1", *SCORES, **query)
    told = await decide(router, event)
    assert told.plan is not None
    assert told.plan.to_json() == (await planned(router, event)).to_json()
    assert (told.clarification, told.rejection) == (None, None)


async def test_decide_names_the_revisions_that_its_plan_rests_on(router):
    await router.register(*CARDS[:2])
    event = router.classified("q1", *SCORES)
    first = await decide(router, event)
    assert await decide(router, event) == first
    await router.register(CARDS[0].model_copy(update={"description": "changed"}))
    changed = await decide(router, event)
    assert changed.registry_revision > first.registry_revision > 0
    assert changed.health_version == first.health_version
    await router.set_health(Kind.GRAPH, "main", BackendHealth.DEGRADED, 1)
    assert (await decide(router, event)).health_version > first.health_version


async def test_a_decision_of_one_query_holds_for_the_next(router):
    await router.register(*CARDS)
    first = await planned(router, router.classified("q1", *SCORES))
    assert first.corpus_decision.selected_corpora == ("b", "a")
    other = (CorpusScore(corpus="a", score=9.0), CorpusScore(corpus="c", score=9.0))
    again = await planned(router, router.classified("q2", *other, text="and now?", decision=sticky_of(first.decisions)))
    assert again.corpus_decision.strategy is Strategy.EXPLICIT
    assert again.lanes == first.lanes


async def test_what_a_card_cannot_confirm_is_named_or_refused(router):
    await router.register(card("a"), card("b"))
    out = CorpusScore(corpus="a", score=5.0, cannot_confirm=("salaries",))
    plan = await planned(router, router.classified("q1", out, CorpusScore(corpus="b", score=1.0)))
    assert plan.corpus_decision.selected_corpora == ("b",)
    assert [(row.corpus, row.reason) for row in plan.unconfirmed] == [("a", UnconfirmedReason.OUT_OF_SCOPE)]
    before = await router.commands()
    both = (out, CorpusScore(corpus="b", score=1.0, cannot_confirm=("salaries",)))
    await router.submit(router.classified("q2", *both))
    answer = await router.stored(flow.FUSED, subjects.query_fused("acme", "q2"), Answer)
    assert (answer.status, answer.rejection.code) == (Status.REJECTED, RejectionCode.UNCONFIRMED)
    assert (answer.rejection.retryable, await router.commands()) == (False, before)
    audited = await router.stored(flow.AUDITED, subjects.audit("acme"), RouteAudited)
    assert (audited.query_id, audited.rejection) == ("q2", answer.rejection)


async def test_the_audit_names_who_asked_and_the_rules_that_fired(router):
    await router.register(*CARDS)
    event = router.classified("q1", *SCORES, principal={"id": "bob"})
    plan = await planned(router, event)
    audited = await router.stored(flow.AUDITED, subjects.audit("acme"), RouteAudited)
    assert (audited.event, audited.principal, audited.plan) == ("corpus.route", "bob", plan)
    assert {row.corpus: (row.boosted_by, row.excluded_by) for row in audited.plan.corpus_decision.scores} == {
        "a": (("money",), ()),
        "b": ((), ()),
        "c": ((), ("no-c",)),
    }


@pytest.mark.parametrize("query", [{"corpora": ("inner",)}, {"corpora": ("nowhere",)}, {"capability": "secret"}])
async def test_nothing_is_sent_for_what_may_not_be_read(router, query):
    """TEN-06: the same refusal as for what does not exist, and no backend hears of it."""
    await router.register(*CARDS)
    await router.submit(router.classified("q1", *SCORES, **query))
    answer = await router.stored(flow.FUSED, subjects.query_fused("acme", "q1"), Answer)
    assert (answer.status, answer.rejection.code) == (Status.REJECTED, RejectionCode.UNKNOWN_CORPUS)
    assert await router.commands() == {}


async def test_span_and_log_event_say_the_same(nats_server):
    exporter = InMemorySpanExporter()
    settings = RuntimeSettings(nats_url=nats_server.url)
    async with compose(build, settings=settings, span_processor=SimpleSpanProcessor(exporter)) as process:
        router = RunningRouter(process, process.context.bus.nc)
        await router.register(*CARDS)
        with structlog.testing.capture_logs() as logs:
            plan = await planned(router, router.classified("q1", *SCORES))
    (span,) = [span for span in exporter.get_finished_spans() if span.name == "corpus.route"]
    (event,) = [event for event in logs if event["event"] == "corpus.route_decision"]
    told = {name: value for name, value in event.items() if name.startswith("rag.")}
    assert dict(span.attributes or {}) == told
    assert told | {"rag.corpus_route.elapsed_ms": 0.0} == {
        "rag.corpus_route.strategy": "static_rules",
        "rag.corpus_route.candidate_n": 3,
        "rag.corpus_route.selected_n": 2,
        "rag.corpus_route.fan_out": True,
        "rag.corpus_route.selected": ("b", "a"),
        "rag.corpus_route.results_n": len(plan.lanes),
        "rag.corpus_route.elapsed_ms": 0.0,
    }
