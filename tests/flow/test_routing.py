"""Decisions through the whole flow: told beforehand, stayed with afterwards, and only of what may be read."""

from typing import Any

import pytest
import pytest_asyncio

from fanfuse_all_in_one.auditing import last_audits
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, RejectionCode, Shape, Status, Strategy
from fanfuse_contracts.filters import Op
from fanfuse_contracts.plan import Plan
from fanfuse_contracts.sticky import sticky_of
from fanfuse_testing.flow import Flow, eventually, sample_chunk
from tests.flow.registered_cards import register

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
TEXTS = {
    "travel": "A flight is refunded if it is cancelled a day before.",
    "leave": "A day of leave is refunded if you were ill.",
    "board": "The board refunded the flight of the chair.",
}
TERMS = {"travel": {"flight": 2.0}, "leave": {"ill": 2.0}, "board": {"chair": 2.0}}
QUESTION = "Is a flight refunded?"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def corpora(flow: Flow) -> Flow:
    """`board` is for directors alone."""
    wiring = Wiring(kind=Kind.KEYWORD, backend="main", pool="main", operators=frozenset(Op))
    for corpus, text in TEXTS.items():
        readers = frozenset({"director"} if corpus == "board" else ())
        card = CorpusCard(tenant=TENANT, corpus=corpus, backends=(wiring,), term_weights=TERMS[corpus], readers=readers)
        await register(flow, card)
        await flow.index(TENANT, corpus, [sample_chunk("1", text)])
    return flow


async def ask(flow: Flow, text: str = QUESTION, *roles: str, **fields: Any) -> Answer:
    async with flow.client(TENANT, *roles) as client:
        return await client.ask(text, **({"budget_ms": 15_000} | fields))


async def audited_plan(flow: Flow, query_id: str) -> Plan:
    """The plan of a query as operators see it."""

    async def read() -> Plan | None:
        rows = await last_audits(flow.operator.bus, 10, TENANT)
        return next((row.plan for row in rows if row.query_id == query_id), None)

    plan: Plan = await eventually(read)
    return plan


def selected(answer: Answer) -> tuple[str, ...]:
    assert answer.corpus_decision is not None, answer.rejection
    return answer.corpus_decision.selected_corpora


async def test_what_is_told_beforehand_is_what_is_done(corpora: Flow) -> None:
    async with corpora.client(TENANT) as client:
        told = await client.decide(QUESTION, budget_ms=15_000)
    answer = await ask(corpora, query_id="as-told")
    assert told.plan is not None
    assert told.plan.to_json() == (await audited_plan(corpora, "as-told")).to_json()
    assert answer.corpus_decision == told.plan.corpus_decision
    assert told.registry_revision > 0


async def test_a_session_stays_with_its_sources(corpora: Flow) -> None:
    first = await ask(corpora)
    assert (first.status, selected(first)) == (Status.COMPLETE, ("travel",))
    question = "And if you are ill?"
    assert selected(await ask(corpora, question)) == ("leave",)
    again = await ask(corpora, question, decision=sticky_of(first.decisions))
    assert selected(again) == ("travel",)
    assert again.corpus_decision is not None
    assert (again.corpus_decision.strategy, again.shape) == (Strategy.EXPLICIT, first.shape)
    assert [lane.weight for lane in again.coverage.lanes] == [lane.weight for lane in first.coverage.lanes]
    assert {hit.corpus for hit in again.hits} <= {"travel"}


async def test_a_session_keeps_nothing_that_its_principal_may_not_read(corpora: Flow) -> None:
    """TEN-06: a director's decision in the hands of somebody else is a decision about nothing."""
    secret = await ask(corpora, "the chair", "director")
    assert selected(secret) == ("board",)
    stolen = await ask(corpora, "the chair", decision=sticky_of(secret.decisions))
    assert stolen.rejection is not None
    assert (stolen.status, stolen.hits) == (Status.REJECTED, ())
    assert stolen.rejection.code is RejectionCode.UNKNOWN_CORPUS
    pinned = await ask(corpora, "the chair", corpora=("nowhere",))
    assert pinned.rejection is not None
    assert pinned.rejection.message == stolen.rejection.message.replace("board", "nowhere")


async def test_a_decision_may_state_shape_and_weights(corpora: Flow) -> None:
    decision = {"shape": "entity_rich", "corpora": [{"corpus": "leave", "weights": {"keyword": 0.25}}]}
    answer = await ask(corpora, decision=decision)
    assert (answer.shape, selected(answer)) == (Shape.ENTITY_RICH, ("leave",))
    assert [lane.weight for lane in answer.coverage.lanes] == [0.25]


async def test_without_include_text_the_answer_carries_none(corpora: Flow) -> None:
    texts = {hit.text for hit in (await ask(corpora)).hits}
    assert texts == {TEXTS["travel"]}
    bare = await ask(corpora, include_text=False)
    assert [hit.text for hit in bare.hits] == [None]
    assert bare.missing_texts == ()
