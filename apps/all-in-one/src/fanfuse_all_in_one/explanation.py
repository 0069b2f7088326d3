"""What is known about one answered query, as one frozen document: the shape of `fanfuse explain --json`.

In: the stored answer, and the audited decision where there is one. Out: an `Explanation`. It repeats and adds up what
they say, never texts of chunks, and says what it cannot show.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime

from pydantic import Field

from fanfuse_all_in_one.timeline import Bar, timeline_of
from fanfuse_contracts.answer import Answer, AnswerHit, Contribution, Copy, LaneReport
from fanfuse_contracts.base import Event, FiniteFloat, Model
from fanfuse_contracts.enums import FallbackReason, LaneOutcome, Shape, Status
from fanfuse_contracts.fusion import FusionApplied
from fanfuse_contracts.operations import RouteAudited
from fanfuse_contracts.plan import Clarification, CorpusRoutingDecision, Rejection, RoutingDecision, Unconfirmed
from fanfuse_contracts.query import Hop
from fanfuse_contracts.retrieval import ChunkId
from fanfuse_contracts.tokens import Token
from fanfuse_fuser.domain.recomputing import recomputed

_HAS_WHAT_IT_HOLDS = frozenset({LaneOutcome.ANSWERED, LaneOutcome.EMPTY})


class ExplainedLane(LaneReport):
    """A lane's report, with what the plan said of it."""

    pool: str | None = None
    """Of the plan, like `window`: known from the audit only."""
    window: int | None = None


class ExplainedContribution(Contribution):
    """A contribution, and what comes out when it is worked out again from this document alone."""

    recomputed: FiniteFloat | None = None
    """None: the answer is of a version that does not tell the scores of a lane."""


class ExplainedHit(Model):
    """A hit and how its score came about."""

    rank: int
    corpus: Token
    chunk_id: ChunkId
    title: str
    score: FiniteFloat
    contributions: tuple[ExplainedContribution, ...]
    sum: FiniteFloat
    """`math.fsum` of the contributions' values."""
    sum_is_score: bool
    """True if both are the same bit for bit."""
    also_in: tuple[Copy, ...] = ()
    """The same content in other searched corpora."""
    reserved_by: Token | None = None
    """The lane whose reserved seat lifted this hit."""


class Missing(Model):
    """Something that belongs to the answer and is not in it, or not whole."""

    what: str
    outcome: str
    why: str


class Explanation(Event):
    """Printed by `fanfuse explain --json`; fields that are not known are left out."""

    tenant: Token
    query_id: Token
    status: Status
    submitted_at: str | None = None
    """UTC, ISO 8601, by the broker's clock."""
    answered_at: str
    elapsed_ms: FiniteFloat
    shape: Shape | None = None
    audited: bool
    """True if the audit of decisions was found."""
    principal: str | None = None
    fired: tuple[str, ...] = ()
    """Rules, scopes and capabilities that fired."""
    corpus_decision: CorpusRoutingDecision | None = None
    decisions: tuple[RoutingDecision, ...] = ()
    lanes: tuple[ExplainedLane, ...] = ()
    fusion: FusionApplied | None = None
    """The policy that made the order. None where nothing was fused."""
    hits: tuple[ExplainedHit, ...] = ()
    total: int = 0
    missing: tuple[Missing, ...] = ()
    unconfirmed: tuple[Unconfirmed, ...] = ()
    bm25_fallback: bool = False
    bm25_fallback_corpora: tuple[Token, ...] = ()
    bm25_fallback_reasons: tuple[FallbackReason, ...] = ()
    rejection: Rejection | None = None
    clarification: Clarification | None = None
    hops: tuple[Hop, ...] = ()
    timeline: tuple[Bar, ...] = Field(default=())
    cannot_show: tuple[str, ...] = ()
    """What is not known, and why."""


def explain(answer: Answer, stored_ns: int, audited: RouteAudited | None) -> Explanation:
    """Everything that is known. `stored_ns`: when the broker stored the answer."""
    plan = audited.plan if audited is not None else None
    return Explanation(
        tenant=answer.tenant,
        query_id=answer.query_id,
        status=answer.status,
        submitted_at=_moment(answer.submitted_ns) if answer.submitted_ns else None,
        answered_at=_moment(stored_ns),
        elapsed_ms=answer.elapsed_ms,
        shape=answer.shape or (plan.shape if plan else None),
        audited=audited is not None,
        principal=audited.principal if audited else None,
        fired=audited.fired if audited else (),
        corpus_decision=answer.corpus_decision or (plan.corpus_decision if plan else None),
        decisions=answer.decisions or (plan.decisions if plan else ()),
        lanes=tuple(_lane(report, audited) for report in answer.coverage.lanes),
        fusion=answer.fusion,
        hits=tuple(_hit(hit, answer) for hit in answer.hits),
        total=answer.total,
        missing=tuple(_missing(answer)),
        unconfirmed=answer.unconfirmed,
        bm25_fallback=answer.bm25_fallback,
        bm25_fallback_corpora=answer.bm25_fallback_corpora,
        bm25_fallback_reasons=answer.bm25_fallback_reasons,
        rejection=answer.rejection,
        clarification=answer.clarification,
        hops=answer.hops,
        timeline=timeline_of(answer),
        cannot_show=tuple(_cannot_show(answer, audited)),
    )


def name_of(lane: LaneReport) -> str:
    """A lane as people read it; a shared one names its corpora."""
    return f"{'+'.join(lane.corpora) or lane.corpus} {lane.kind.value}/{lane.backend}"


def _moment(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(timespec="milliseconds")


def _lane(report: LaneReport, audited: RouteAudited | None) -> ExplainedLane:
    lanes = audited.plan.lanes if audited is not None and audited.plan is not None else ()
    planned = next((lane for lane in lanes if lane.name == report.lane), None)
    return ExplainedLane(
        **report.model_dump(),
        pool=planned.pool if planned else None,
        window=planned.window if planned else None,
    )


def _part(part: Contribution, answer: Answer) -> ExplainedContribution:
    report = next((lane for lane in answer.coverage.lanes if lane.lane == part.lane), None)
    again = recomputed(part, report, answer.fusion) if report is not None and answer.fusion is not None else None
    return ExplainedContribution(**part.model_dump(), recomputed=again)


def _hit(hit: AnswerHit, answer: Answer) -> ExplainedHit:
    total = math.fsum(part.value for part in hit.contributions)
    return ExplainedHit(
        rank=hit.rank,
        corpus=hit.corpus,
        chunk_id=hit.chunk_id,
        title=hit.title,
        score=hit.score,
        contributions=tuple(_part(part, answer) for part in hit.contributions),
        sum=total,
        sum_is_score=total == hit.score,
        also_in=hit.also_in,
        reserved_by=hit.reserved_by,
    )


def _missing(answer: Answer) -> Iterator[Missing]:
    for lane in answer.coverage.lanes:
        if lane.outcome not in _HAS_WHAT_IT_HOLDS:
            parts = (lane.failure.value if lane.failure else "", lane.reason)
            why = ": ".join(part for part in parts if part) or "no reason was given"
            yield Missing(what=name_of(lane), outcome=lane.outcome.value, why=why)
    for one in answer.unconfirmed:
        yield Missing(what=one.corpus, outcome=f"unconfirmed: {one.reason.value}", why=one.message)
    if answer.coverage.rejected_replies:
        why = f"{answer.coverage.rejected_replies}: wrong filter digest, wrong source, or undecodable"
        yield Missing(what="replies", outcome="not fused", why=why)
    for chunk_id in answer.missing_texts:
        yield Missing(what=f"text of {chunk_id}", outcome="missing", why="it did not come in time; the hit stays")
    if answer.gone:
        yield Missing(what=f"{answer.gone} hits", outcome="dropped", why="deleted while the query ran")


def _cannot_show(answer: Answer, audited: RouteAudited | None) -> Iterator[str]:
    if audited is None:
        yield (
            "the audited decision: it is not in the audit (refused before routing, older than 30 days, or dropped); "
            "pools, windows, the principal and the rules that fired are unknown"
        )
    if not answer.hops:
        yield "when each stage was done: the answer carries no hops (it is of an older version)"
    if not answer.submitted_ns:
        yield "when the query was submitted: the answer does not say"
