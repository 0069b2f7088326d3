"""The join of one plan: replies and the moments they came in, what each lane gave or why it gave nothing out.

Completion is by lane name, never by count; the first valid reply of a lane wins. Knows no clock: times are arguments,
in milliseconds since the plan arrived.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fanfuse_contracts.enums import LaneOutcome
from fanfuse_contracts.plan import Lane, QueryPlanned
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_fuser.domain.ranked import RankedList

_REPLIED = frozenset({LaneOutcome.ANSWERED, LaneOutcome.EMPTY, LaneOutcome.CUT, LaneOutcome.FAILED})


class Verdict(StrEnum):
    """What was done with one reply."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    LATE = "late"
    UNKNOWN_LANE = "unknown_lane"
    WRONG_SOURCE = "wrong_source"
    WRONG_DIGEST = "wrong_digest"
    UNDECODABLE = "undecodable"


REFUSALS = frozenset(Verdict) - {Verdict.ACCEPTED, Verdict.DUPLICATE, Verdict.LATE}
"""Replies that may not be fused."""


class Loss(StrEnum):
    """Why a lane of the plan has no reply to fuse."""

    NEVER_REPLIED = "never_replied"
    NO_WORKER = "no_worker"
    LATE = "late"
    WRONG_SOURCE = "wrong_source"
    WRONG_DIGEST = "wrong_digest"
    UNDECODABLE = "undecodable"
    CANCELLED = "cancelled"
    OPTIONAL = "optional"
    NO_EFFECT = "no_effect"
    MOOT = "moot"


NOT_WAITED = frozenset({Loss.OPTIONAL, Loss.NO_EFFECT, Loss.MOOT})
"""Nobody is at fault: the answer went out without these lanes."""


_LOSS_OF = {
    Verdict.WRONG_SOURCE: Loss.WRONG_SOURCE,
    Verdict.WRONG_DIGEST: Loss.WRONG_DIGEST,
    Verdict.UNDECODABLE: Loss.UNDECODABLE,
}


def sources_of(lane: Lane) -> frozenset[str | None]:
    """What a hit of this lane may name as its corpus: in a shared search one of the plan's, else at most its own."""
    return frozenset(lane.corpora) if lane.corpora else frozenset({None, lane.corpus})


@dataclass(frozen=True, slots=True)
class LaneResult:
    """One lane of the plan when the join is over: a valid reply, or the loss."""

    lane: Lane
    reply: LaneReply | None = None
    loss: Loss | None = None
    waited_ms: float | None = None
    """When the reply came; None without one."""
    ranked: RankedList = field(init=False, repr=False, compare=False)
    """The hits of the reply, read when it comes: other lanes are waited for then."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranked", RankedList(self.lane, self.reply.hits if self.reply else ()))


class Join:
    """State of one plan. Not for several threads."""

    def __init__(self, planned: QueryPlanned) -> None:
        self._tenant, self._query_id = planned.tenant, planned.query_id
        self._lanes = {lane.name: lane for lane in planned.plan.lanes}
        self._sources = {lane.name: sources_of(lane) for lane in planned.plan.lanes}
        # Asked at every reply, so it is kept, not counted.
        self._waiting = dict(self._lanes)
        self._replies: dict[str, LaneResult] = {}
        self._losses: dict[str, Loss] = {}
        self._late: dict[str, float] = {}
        self._closed = False
        self._cancelled = False
        self.duplicates = 0
        """Replies of a lane that had one already."""
        self.rejected = 0
        """Replies that may not be fused: unknown lane, wrong source or filter digest, undecodable."""

    def done(self) -> bool:
        """True when waiting longer can bring nothing."""
        return self._cancelled or not self._waiting

    def cancelled(self) -> bool:
        """True once the caller no longer waits."""
        return self._cancelled

    def waiting(self) -> list[Lane]:
        """Lanes whose reply may still come, in the plan's order."""
        return list(self._waiting.values())

    def knows(self, lane: str) -> bool:
        """True if a reply of this lane would be a duplicate."""
        return lane in self._replies or lane in self._late

    def offer(self, reply: LaneReply, at_ms: float) -> Verdict:
        """Take one reply. A lane that was given up, or spoiled by a bad reply, still takes a valid one."""
        if self.knows(reply.lane):
            return self.repeat()
        verdict = self._check(reply)
        if verdict is not Verdict.ACCEPTED:
            return self.refuse(reply.lane, verdict)
        if self._closed:
            self._late[reply.lane] = at_ms
            return Verdict.LATE
        self._replies[reply.lane] = LaneResult(self._lanes[reply.lane], reply, waited_ms=at_ms)
        self._waiting.pop(reply.lane, None)
        return Verdict.ACCEPTED

    def repeat(self) -> Verdict:
        """Count one more reply of a lane that has one."""
        self.duplicates += 1
        return Verdict.DUPLICATE

    def refuse(self, lane: str, verdict: Verdict) -> Verdict:
        """Count a reply that may not be fused; its lane is not waited for, as the worker has had its say."""
        self.rejected += 1
        known = lane not in self._lanes or self.knows(lane) or self._losses.get(lane) in NOT_WAITED
        if not known and (loss := _LOSS_OF.get(verdict)):
            self._lose(lane, loss)
        return verdict

    def give_up(self, lanes: Iterable[str]) -> None:
        """Stop waiting for lanes that no worker serves."""
        for name in lanes:
            if name in self._waiting:
                self._lose(name, Loss.NO_WORKER)

    def release(self, losses: Mapping[str, Loss]) -> None:
        """Stop waiting for lanes that the answer can do without, each with why."""
        for name, loss in losses.items():
            if name in self._waiting:
                self._lose(name, loss)

    def cancel(self) -> None:
        """The caller no longer waits."""
        self._cancelled = True

    def close(self) -> None:
        """No reply that comes from now on is fused: it is late."""
        self._closed = True

    def results(self) -> tuple[LaneResult, ...]:
        """Every lane, in the plan's order, whatever the order of arrival."""
        return tuple(self._result(name, lane) for name, lane in self._lanes.items())

    def _lose(self, lane: str, loss: Loss) -> None:
        self._losses[lane] = loss
        self._waiting.pop(lane, None)

    def _result(self, name: str, lane: Lane) -> LaneResult:
        if name in self._replies:
            return self._replies[name]
        if name in self._late:
            released = self._losses.get(name) in NOT_WAITED
            return LaneResult(lane, loss=self._losses[name] if released else Loss.LATE, waited_ms=self._late[name])
        never = Loss.CANCELLED if self._cancelled else Loss.NEVER_REPLIED
        return LaneResult(lane, loss=self._losses.get(name, never))

    def _check(self, reply: LaneReply) -> Verdict:
        lane = self._lanes.get(reply.lane)
        if lane is None:
            return Verdict.UNKNOWN_LANE
        source = (reply.tenant, reply.query_id, reply.corpus, reply.kind, reply.backend)
        if source != (self._tenant, self._query_id, lane.corpus, lane.kind, lane.backend):
            return Verdict.WRONG_SOURCE
        if not {hit.corpus for hit in reply.hits} <= self._sources[lane.name]:
            return Verdict.WRONG_SOURCE
        if reply.outcome not in _REPLIED:
            return Verdict.UNDECODABLE
        # A failure applied no filter, so it has none to attest.
        if reply.outcome is not LaneOutcome.FAILED and reply.filter_digest != lane.filter_digest:
            return Verdict.WRONG_DIGEST
        return Verdict.ACCEPTED
