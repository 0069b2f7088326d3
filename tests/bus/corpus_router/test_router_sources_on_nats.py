"""What a running router does with sources that need more, are down, are old, or are searched together."""

from datetime import UTC, datetime

import pytest

from fanfuse_contracts import flow, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.capability import Argument, Capability
from fanfuse_contracts.classification import AskedCapability, CorpusScore
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType, Wiring
from fanfuse_contracts.enums import (
    BackendHealth,
    Kind,
    LaneOutcome,
    RejectionCode,
    SourceKind,
    Status,
    UnconfirmedReason,
)
from fanfuse_contracts.filters import Op
from fanfuse_contracts.operations import RouteAudited
from fanfuse_contracts.plan import DecideReply, QueryPlanned, RetrieveCommand

PERSON = {"field": "person", "op": "eq", "value": "p-7"}


def card(corpus, source, *, backend, argument=None, **fields):
    required = (Argument(name=argument, field=argument),) if argument else ()
    return CorpusCard(
        tenant="acme",
        corpus=corpus,
        public=True,
        source=source,
        can_answer=(Capability(name=f"{corpus}-leave", match_any=("leave",), required=required),),
        fields={"person": FieldType.STRING},
        backends=(Wiring(kind=Kind.KEYWORD, backend=backend, pool=backend, operators=frozenset(Op)),),
        **fields,
    )


def asked(corpus, score=1.0):
    return CorpusScore(
        corpus=corpus, score=score, asked=(AskedCapability(capability=f"{corpus}-leave", matched=("leave",)),)
    )


RULES = card("rules", SourceKind.POLICY, backend="y")
RECORDS = card("records", SourceKind.RECORD, backend="x", argument="person")
COPY = card("copy", SourceKind.RECORD, backend="z")


def answer_of(router, query_id):
    return router.stored(flow.FUSED, subjects.query_fused("acme", query_id), Answer)


def plan_of(router, query_id):
    return router.stored(flow.PLANNED, subjects.query_planned("acme", query_id), QueryPlanned)


async def test_a_query_of_two_meanings_is_answered_by_a_question_and_its_reply_is_planned(router):
    await router.register(RULES, RECORDS)
    await router.submit(router.classified("q1", asked("rules"), asked("records")))
    answer = await answer_of(router, "q1")
    assert (answer.status, answer.hits, answer.rejection) == (Status.CLARIFY, (), None)
    assert {option.corpus for option in answer.clarification.options} == {"rules", "records"}
    assert await router.commands() == {}
    audited = await router.stored(flow.AUDITED, subjects.audit("acme"), RouteAudited)
    assert (audited.query_id, audited.clarification, audited.plan) == ("q1", answer.clarification, None)

    await router.submit(router.classified("q2", asked("rules"), asked("records"), capability="rules-leave"))
    planned = await plan_of(router, "q2")
    assert [lane.corpus for lane in planned.plan.lanes] == ["rules"]


async def test_a_missing_argument_is_asked_for_and_then_given(router):
    await router.register(RECORDS)
    await router.submit(router.classified("q1", asked("records")))
    answer = await answer_of(router, "q1")
    assert answer.status is Status.CLARIFY
    assert [(row.argument, row.field) for row in answer.clarification.missing] == [("person", "person")]
    assert await router.commands() == {}
    await router.submit(router.classified("q2", asked("records"), filter=PERSON))
    assert [lane.corpus for lane in (await plan_of(router, "q2")).plan.lanes] == ["records"]


async def test_decide_asks_back_as_the_flow_does(router):
    await router.register(RULES, RECORDS)
    event = router.classified("q1", asked("rules"), asked("records"))
    reply = await router.client.request(subjects.route_decide("acme"), event.to_json(), timeout=30)
    told = DecideReply.from_json(reply.data)
    await router.submit(event)
    assert told.clarification == (await answer_of(router, "q1")).clarification
    assert (told.plan, told.rejection) == (None, None)


async def test_while_the_record_is_down_no_policy_answers_in_its_place(router):
    await router.register(RULES, RECORDS)
    await router.set_health(Kind.KEYWORD, "x", BackendHealth.DEGRADED, 1)
    scores = (CorpusScore(corpus="rules", score=9.0), asked("records"))
    await router.submit(router.classified("q1", *scores, filter=PERSON))
    answer = await answer_of(router, "q1")
    assert (answer.status, answer.hits) == (Status.FAILED, ())
    assert (answer.rejection.code, answer.rejection.retryable) == (RejectionCode.UNCONFIRMED, True)
    assert "'records'" in answer.rejection.message
    (lost,) = answer.coverage.lanes
    assert (lost.corpus, lost.kind, lost.backend, lost.lane) == ("records", Kind.KEYWORD, "x", None)
    assert (lost.outcome, lost.reason) == (LaneOutcome.SKIPPED_UNHEALTHY, "the backend is degraded")
    assert await router.commands() == {}

    await router.set_health(Kind.KEYWORD, "x", BackendHealth.HEALTHY, 2)
    await router.submit(router.classified("q2", *scores, filter=PERSON))
    assert {lane.corpus for lane in (await plan_of(router, "q2")).plan.lanes} == {"rules", "records"}


async def test_a_fallback_gets_the_command_of_the_source_that_is_down(router):
    await router.register(RECORDS.model_copy(update={"fallbacks": ("copy",)}), COPY)
    await router.set_health(Kind.KEYWORD, "x", BackendHealth.DEGRADED, 1)
    await router.submit(router.classified("q1", asked("records", 5.0), filter=PERSON))
    plan = (await plan_of(router, "q1")).plan
    assert [(row.corpus, row.reason) for row in plan.unconfirmed] == [("records", UnconfirmedReason.DOWN)]
    assert [row.stands_in_for for row in plan.decisions] == [None, "records"]
    assert await router.commands() == {subjects.retrieve(Kind.KEYWORD, "z", "acme", "copy"): 1}


@pytest.mark.parametrize(("age_s", "named"), [(60, False), (7_200, True)])
async def test_a_stale_source_is_searched_and_named_by_the_brokers_clock(router, age_s, named):
    indexed_at = datetime.fromtimestamp(router.now_s - age_s, UTC).isoformat()
    await router.register(RULES.model_copy(update={"freshness_s": 3_600, "indexed_at": indexed_at}))
    await router.submit(router.classified("q1"))
    plan = (await plan_of(router, "q1")).plan
    assert [lane.corpus for lane in plan.lanes] == ["rules"]
    assert [row.reason for row in plan.unconfirmed] == ([UnconfirmedReason.STALE] if named else [])


async def test_corpora_that_share_a_lane_get_one_command(router):
    embedder = EmbedderSpec(model="mini", dimensions=3)
    wiring = Wiring(kind=Kind.VECTOR, backend="main", pool="main", shared=True)
    cards = [
        CorpusCard(tenant="acme", corpus=name, public=True, embedder=embedder, backends=(wiring,)) for name in "abc"
    ]
    await router.register(*cards)
    await router.submit(router.classified("q1"))
    plan = (await plan_of(router, "q1")).plan
    assert [lane.corpora for lane in plan.lanes] == [("a", "b", "c")]
    subject = subjects.retrieve(Kind.VECTOR, "main", "acme", "_all")
    assert await router.commands() == {subject: 1}
    command = await router.stored(flow.RETRIEVE, subject, RetrieveCommand)
    assert (command.corpora, command.lane) == (("a", "b", "c"), plan.lanes[0].name)
