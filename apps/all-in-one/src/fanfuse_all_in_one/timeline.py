"""When what happened to a query: its stages and lanes as bars on one axis, in ms since the broker stored the query.

In: an answer. Out: bars in the order of the flow. A moment that no process measured is marked as not exact.
"""

from collections.abc import Iterator

from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.base import FiniteFloat, Model
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.query import Hop


class Bar(Model):
    """One row of the timeline. A lane that was never asked has no times."""

    row: str
    """`stage`, `lane` or `answer`."""
    name: str
    from_ms: FiniteFloat | None = None
    to_ms: FiniteFloat | None = None
    exact: bool = True
    """False: the bar's end is a bound and no measurement, as its note says."""
    outcome: str
    note: str = ""


def timeline_of(answer: Answer) -> tuple[Bar, ...]:
    """Stages before the lanes, the lanes, then the fuser; without any hop, one bar for the whole query."""
    before = [hop for hop in answer.hops if hop.stage is not Stage.FUSER]
    fusers = [hop for hop in answer.hops if hop.stage is Stage.FUSER]
    if not answer.hops:
        bar = Bar(row="answer", name="query", from_ms=0.0, to_ms=answer.elapsed_ms, outcome=answer.status.value)
        return (bar, *(_lane(lane, answer, None, 0.0) for lane in answer.coverage.lanes))
    sent_ms = before[-1].at_ms if before else 0.0
    lanes = (_lane(lane, answer, fusers[0] if fusers else None, sent_ms) for lane in answer.coverage.lanes)
    return (*_stages(before), *lanes, *_stages(fusers))


def _stages(hops: list[Hop]) -> Iterator[Bar]:
    for hop in hops:
        from_ms = max(0.0, hop.at_ms - hop.took_ms)
        yield Bar(row="stage", name=hop.stage.value, from_ms=from_ms, to_ms=hop.at_ms, outcome="done")


def _lane(lane: LaneReport, answer: Answer, fuser: Hop | None, sent_ms: float) -> Bar:
    name = f"{'+'.join(lane.corpora) or lane.corpus} {lane.kind.value}/{lane.backend}"
    outcome, why = lane.outcome.value, lane.reason
    failure = f"{outcome}: {lane.failure.value}" if lane.failure else outcome
    if lane.lane is None:
        return Bar(row="lane", name=name, outcome=outcome, note=why)
    if lane.waited_ms is None or fuser is None:
        end = max(sent_ms, answer.elapsed_ms)
        note = why or "no reply"
        return Bar(row="lane", name=name, from_ms=sent_ms, to_ms=end, exact=False, outcome=failure, note=note)
    replied_ms = fuser.at_ms - fuser.took_ms + lane.waited_ms
    exact = lane.waited_ms > 0
    # A reply that was stored before the fuser took the plan came at some moment between the commands and the plan.
    began_ms = sent_ms if lane.elapsed_ms is None or not exact else replied_ms - lane.elapsed_ms
    return Bar(
        row="lane",
        name=name,
        from_ms=min(max(sent_ms, began_ms), replied_ms),
        to_ms=replied_ms,
        exact=exact,
        outcome=failure,
        note=why if exact or why else "the reply was there before the fuser took the plan",
    )
