"""A contribution worked out again from nothing but the stored answer.

In: a contribution, its lane's report, the policy that the answer names. Out: its value, or None where an answer of an
older version does not say enough.
"""

from typing import NamedTuple

from fanfuse_contracts.answer import Contribution, LaneReport
from fanfuse_contracts.fusion import FusionApplied
from fanfuse_fuser.domain.policies import Scale, build_policy


class _Lone(NamedTuple):
    ranks: tuple[int, ...]
    scores: tuple[float, ...]


_NO_SCALE = Scale(0, 0.0, 0.0)
"""Ranks are enough."""


def recomputed(part: Contribution, report: LaneReport, applied: FusionApplied) -> float | None:
    """The value that the lane's vote must have: the same operations in the same order, so the same bits."""
    if applied.policy.ranked:
        score, scale = 0.0, _NO_SCALE
    elif part.score is None or report.lowest_score is None or report.highest_score is None:
        return None
    else:
        score, scale = part.score, Scale(report.hits, report.lowest_score, report.highest_score)
    (value,) = build_policy(applied).values(part.weight, _Lone((part.rank,), (score,)), scale)
    return value
