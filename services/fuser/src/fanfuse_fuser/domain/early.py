"""Which lanes an answer can do without while they have not replied, so that it goes out at once.

In: what the lanes came to so far. Out: the lanes not to wait for, each with why; empty: wait. Knows no clock. A lane
that must answer is always waited for, and so is every lane while there is no hit at all.
"""

from collections.abc import Mapping, Sequence

from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.plan import Lane, QueryPlanned
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_contracts.quorum import Requirement
from fanfuse_fuser.domain.bounds import seats_decide, settled
from fanfuse_fuser.domain.confirmation import is_confirmed
from fanfuse_fuser.domain.coverage import ranked_lists
from fanfuse_fuser.domain.join import LaneResult, Loss
from fanfuse_fuser.domain.quorum import must_is_lost

Dispensable = Mapping[str, Loss]
"""Lanes by name, each with why the answer goes out without it."""
WAIT: Dispensable = {}


def can_be_early(planned: QueryPlanned, config: FusionConfig) -> bool:
    """False where no reply can ever end the wait before the last one: nothing has to be looked at then."""
    plan = planned.plan
    stated = {lane.requirement for lane in plan.lanes} | {lane.requirement for lane in plan.skipped}
    return not (stated <= {Requirement.SHOULD} and seats_decide(config, depth_of(planned.query)))


def depth_of(query: AcceptedQuery) -> int:
    """How many hits of the fused list must not change."""
    return query.offset + query.top_k


def dispensable(
    planned: QueryPlanned, results: Sequence[LaneResult], waiting: Sequence[Lane], config: FusionConfig
) -> Dispensable:
    """All lanes of `waiting`, or none. `results`: every lane of the plan, as if the join were over now."""
    missing = {lane.name for lane in waiting}
    here = [result for result in results if result.lane.name not in missing]
    if must_is_lost(here, planned.plan.skipped):
        return dict.fromkeys(missing, Loss.MOOT)
    counting = [lane for lane in waiting if lane.requirement is not Requirement.MAY]
    if any(lane.requirement is Requirement.MUST for lane in counting):
        return WAIT
    lists = ranked_lists(here)
    if not lists or not is_confirmed(planned, results):
        return WAIT
    if counting and not settled(lists, counting, planned.plan.lanes, config, depth_of(planned.query)):
        return WAIT
    effect = {lane.name: Loss.NO_EFFECT for lane in counting}
    return {name: effect.get(name, Loss.OPTIONAL) for name in missing}
