"""Sources of different kinds on the real bus: questions back to the caller, stale text, and a source that is lost.

`rules` says what holds (policy), `balances` says what is the case for one employee (record, in a pool of its own),
`forum` is what people write (reference).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.capability import Argument, Capability, Topic
from fanfuse_contracts.corpus import CorpusCard, FieldType, Wiring
from fanfuse_contracts.enums import (
    Kind,
    RejectionCode,
    SourceKind,
    Stage,
    Status,
    UnconfirmedReason,
)
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_testing.flow import Deployment, Flow, eventually, sample_chunk
from fanfuse_testing.processes import Processes
from tests.flow.registered_cards import change, register

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
FIELDS = {"employee": FieldType.STRING}
QUESTION = "How much vacation is left?"
RECORDS = "records"
PATIENT_MS, BUDGET_MS = 15_000, 1_500

TEXTS = {
    "rules": {"vacation": "Every employee has 30 days of vacation a year; what is left in March is lost."},
    "balances": {
        "e-7": "Employee E-7 has 12 days of vacation left in 2026.",
        "e-8": "Employee E-8 has no vacation left in 2026.",
    },
    "forum": {"post": "Somebody said that vacation left over is paid out. I doubt it."},
}
CARDS: dict[str, dict[str, Any]] = {
    "rules": {
        "source": SourceKind.POLICY,
        "can_answer": (Capability(name="vacation-rules", match_any=("vacation",)),),
        "cannot_confirm": (Topic(name="salaries", match_any=("salary",)),),
    },
    "balances": {
        "source": SourceKind.RECORD,
        "can_answer": (
            Capability(
                name="vacation-balance",
                description="days of vacation that an employee has left",
                match_any=("vacation",),
                required=(Argument(name="employee", field="employee", pattern=r"\bE-[0-9]+\b"),),
            ),
        ),
        "cannot_confirm": (Topic(name="salaries", match_any=("salary",)),),
    },
    "forum": {"cannot_confirm": (Topic(name="salaries", match_any=("salary",)),)},
}


async def build_corpora(deployment: Deployment, records_pool: str) -> None:
    """Cards first, then the text: an index run keeps what a card states."""
    for corpus, stated in CARDS.items():
        pool = records_pool if corpus == "balances" else "main"
        wiring = Wiring(kind=Kind.KEYWORD, backend=pool, pool=pool, operators=frozenset(Op))
        await register(deployment, CorpusCard(tenant=TENANT, corpus=corpus, backends=(wiring,), **stated))
        chunks = [sample_chunk(i, text, metadata={"employee": i.upper()}) for i, text in TEXTS[corpus].items()]
        await deployment.index(TENANT, corpus, chunks, FIELDS)


@pytest.fixture(autouse=True, scope="module")
def _records_are_a_backend() -> Iterator[None]:
    """The configuration names the backend of the records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FANFUSE__BACKENDS__KEYWORD__RECORDS__POOL", RECORDS)
        yield


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sources(flow: Flow) -> Flow:
    await build_corpora(flow, "main")
    return flow


async def ask(deployment: Deployment, text: str = QUESTION, query_id: str | None = None, **fields: Any) -> Answer:
    async with deployment.client(TENANT) as client:
        return await client.ask(text, query_id=query_id, **({"budget_ms": PATIENT_MS} | fields))


async def commands_ever(flow: Flow) -> int:
    """How many retrieval commands were stored so far."""
    return (await flow.operator.bus.js.stream_info(streams.RETRIEVE.name)).state.last_seq


def found(answer: Answer) -> set[tuple[str, str]]:
    return {(hit.corpus, hit.chunk_id) for hit in answer.hits}


def unconfirmed(answer: Answer) -> list[tuple[str, UnconfirmedReason]]:
    return [(one.corpus, one.reason) for one in answer.unconfirmed]


async def test_a_policy_and_a_record_are_told_apart_by_the_caller(sources: Flow) -> None:
    """The whole conversation: which kind of source, then what it lacks, then the answer. Nobody is called before."""
    before, counted = await commands_ever(sources), sources.metric("fanfuse_queries_total", status="clarify")
    async with sources.ledger(TENANT) as heard:
        unclear = await ask(sources, query_id="conversation-1")
        assert (unclear.status, unclear.hits, unclear.coverage.expected) == (Status.CLARIFY, (), 0)
        assert unclear.clarification is not None
        options = {one.capability: one.source for one in unclear.clarification.options}
        assert options == {"vacation-rules": SourceKind.POLICY, "vacation-balance": SourceKind.RECORD}
        assert unclear.rejection is None
        assert unclear.submitted_ns > 0

        lacking = await ask(sources, query_id="conversation-2", capability="vacation-balance")
        assert (lacking.status, lacking.clarification is not None) == (Status.CLARIFY, True)
        assert lacking.clarification is not None
        (missing,) = lacking.clarification.missing
        assert (missing.corpus, missing.argument, missing.field) == ("balances", "employee", "employee")
        await asyncio.sleep(0.1)
        assert heard.heard == {"conversation-1": 1, "conversation-2": 1}
    assert await commands_ever(sources) == before
    assert sources.metric("fanfuse_queries_total", status="clarify") == counted + 2
    stored = await sources.operator.bus.last(streams.ANSWERS.name, subjects.query_fused(TENANT, "conversation-1"))
    assert stored is not None
    assert Answer.from_json(stored.data) == unclear

    answers = [
        await ask(sources, f"{QUESTION} E-7", capability="vacation-balance"),
        await ask(sources, capability="vacation-balance", filter=Leaf(field="employee", op=Op.EQ, value="E-7")),
    ]
    for answer in answers:
        assert (answer.status, answer.clarification) == (Status.COMPLETE, None)
        assert ("balances", "e-7") in found(answer)
    assert found(answers[1]) == {("balances", "e-7")}
    rules = await ask(sources, capability="vacation-rules")
    assert found(rules) == {("rules", "vacation")}


async def test_a_clarification_is_heard_again_by_whoever_uses_its_query_id(sources: Flow) -> None:
    """Exactly one answer per query id, also where it is a question."""
    first = await ask(sources, query_id="asked-twice")
    again = await ask(sources, "something else altogether", query_id="asked-twice")
    assert again == first
    assert first.status is Status.CLARIFY


async def test_what_no_source_confirms_is_refused_and_not_guessed(sources: Flow) -> None:
    before = await commands_ever(sources)
    answer = await ask(sources, "Is my salary paid in March?")
    assert answer.rejection is not None
    assert (answer.status, answer.rejection.code) == (Status.REJECTED, RejectionCode.UNCONFIRMED)
    assert not answer.rejection.retryable
    assert (answer.hits, await commands_ever(sources)) == ((), before)
    assert sources.metric("fanfuse_rejections_total", code="unconfirmed") == 1


async def test_stale_text_is_searched_and_named(sources: Flow) -> None:
    fresh = await ask(sources, corpora=("rules",))
    assert (fresh.status, fresh.unconfirmed) == (Status.COMPLETE, ())
    await change(sources, TENANT, "rules", freshness_s=3_600, indexed_at="2020-01-01T00:00:00+00:00")
    stale = await ask(sources, corpora=("rules",))
    assert (stale.status, found(stale)) == (Status.COMPLETE, {("rules", "vacation")})
    assert unconfirmed(stale) == [("rules", UnconfirmedReason.STALE)]
    assert "2020-01-01" in stale.unconfirmed[0].message


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def apart(processes: Processes) -> AsyncIterator[Processes]:
    """Every service in a process of its own; the records have their own worker."""
    for stage in (Stage.CLASSIFIER, Stage.CORPUS_ROUTER, Stage.FUSER, Stage.HEALTH):
        processes.launch(stage, stage.value)
    processes.launch(Stage.BACKEND_WORKERS, "others", {"FANFUSE_WORKER_POOLS": "keyword/main"})
    processes.launch(Stage.BACKEND_WORKERS, RECORDS, {"FANFUSE_WORKER_POOLS": f"keyword/{RECORDS}"})
    await processes.ready()
    await build_corpora(processes, RECORDS)
    # Without an asked capability the first selected corpus must confirm: a question for balances is one by its terms.
    for corpus, terms in (("balances", {"left": 3.0}), ("rules", {"left": 1.0}), ("forum", {"left": 1.0})):
        await change(processes, TENANT, corpus, can_answer=(), term_weights=terms)
    yield processes


async def test_a_record_that_is_lost_at_run_time_is_never_replaced_by_a_policy(apart: Processes) -> None:
    """The worker of the record is killed: planned, lost, and so neither the rules nor the forum are shown."""

    async def is_whole() -> bool:
        answer = await ask(apart, f"{QUESTION} E-7")
        return answer.status is Status.COMPLETE and {hit.corpus for hit in answer.hits} == set(TEXTS)

    await eventually(is_whole, within_s=30.0)
    apart.kill(RECORDS)
    answers = await asyncio.gather(*(ask(apart, f"{QUESTION} E-7", budget_ms=BUDGET_MS) for _ in range(4)))
    for answer in answers:
        assert answer.rejection is not None
        assert (answer.status, answer.rejection.code) == (Status.FAILED, RejectionCode.UNCONFIRMED)
        assert answer.rejection.retryable
        assert "'balances'" in answer.rejection.message
        assert (answer.hits, answer.total, answer.bm25_fallback) == ((), 0, False)
        assert unconfirmed(answer) == [("balances", UnconfirmedReason.DOWN)]
        outcomes = {one.corpus: one.outcome.value for one in answer.coverage.lanes}
        assert outcomes == {"balances": "failed", "rules": "answered", "forum": "answered"}


async def test_once_the_loss_is_known_nobody_is_called(apart: Processes) -> None:
    """The router refuses in the same words, without paying a timeout; other questions are answered as ever."""

    async def is_known() -> Answer | None:
        answer = await ask(apart, f"{QUESTION} E-7", budget_ms=BUDGET_MS)
        return answer if answer.coverage.expected == 0 else None

    answer: Answer = await eventually(is_known, within_s=30.0)
    assert answer.rejection is not None
    assert (answer.status, answer.rejection.code) == (Status.FAILED, RejectionCode.UNCONFIRMED)
    assert answer.rejection.retryable
    assert "'balances'" in answer.rejection.message
    rules = await ask(apart, corpora=("rules", "forum"))
    assert (rules.status, {hit.corpus for hit in rules.hits}) == (Status.COMPLETE, {"rules", "forum"})
    both = await ask(apart, corpora=("rules", "balances"))
    assert (found(both), unconfirmed(both)) == ({("rules", "vacation")}, [("balances", UnconfirmedReason.DOWN)])
    assert both.status is Status.PARTIAL, "pinned: each pinned kind confirms for itself"


async def test_it_is_confirmed_again_when_the_source_is_back(apart: Processes) -> None:
    await apart.restart(RECORDS)

    async def is_whole() -> bool:
        answer = await ask(apart, f"{QUESTION} E-7")
        return answer.status is Status.COMPLETE and ("balances", "e-7") in found(answer)

    assert await eventually(is_whole, within_s=60.0)
