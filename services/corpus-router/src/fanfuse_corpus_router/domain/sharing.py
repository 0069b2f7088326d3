"""Which ready lanes become one search: several corpora on one backend, or each by itself.

In: ready lanes of all selected corpora, in order. Out: searches, at most `MAX_LANES` of them kept. A search covers only
corpora that were ready by themselves, so each of them can enforce the filter and has this very input.
"""

import math
from collections.abc import Sequence, Set
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.quorum import Requirement, strictest
from fanfuse_corpus_router.domain.lanes import ReadyLane


class Search(NamedTuple):
    """One lane of a plan. All members agree in kind, backend, pool and input; more than one make a shared lane."""

    members: tuple[ReadyLane, ...]
    corpora: tuple[str, ...]
    """Whose chunks are searched, sorted."""
    weight: float
    """Backend weight × corpus weight: the strongest backend weight, and the corpora's share of the relevance."""

    @property
    def lead(self) -> ReadyLane:
        """The first member."""
        return self.members[0]

    @property
    def requirement(self) -> Requirement:
        """That of its strictest corpus: with the lane all of them lose theirs."""
        members = self.members
        return strictest(lane.requirement for lane in members) if len(members) > 1 else members[0].requirement

    @property
    def shared(self) -> bool:
        """True if several corpora are searched in one call."""
        return len(self.members) > 1


def _alone(lane: ReadyLane) -> Search:
    return Search((lane,), (lane.corpus,), lane.backend_weight * lane.corpus_weight)


def _together(members: Sequence[ReadyLane]) -> Search:
    if len(members) == 1:
        return _alone(members[0])
    share = min(math.fsum(lane.corpus_weight for lane in members), 1.0)
    weight = max(lane.backend_weight for lane in members) * share
    return Search(tuple(members), tuple(sorted(lane.corpus for lane in members)), weight)


def group_lanes(ready: Sequence[ReadyLane], *, fan_out: bool) -> tuple[Search, ...]:
    """One search per lane if `fan_out`; else lanes that one call can serve are joined at the place of the first."""
    if fan_out:
        return tuple(map(_alone, ready))
    groups: dict[object, list[ReadyLane]] = {}
    for lane in ready:
        groups.setdefault(_identity(lane), []).append(lane)
    return tuple(map(_together, groups.values()))


def _identity(lane: ReadyLane) -> object:
    """Lanes of equal identity can be searched in one call."""
    wiring = lane.wiring
    if not wiring.shared:
        return lane.corpus, wiring.kind, wiring.backend
    embedder = lane.embedder if wiring.kind is Kind.VECTOR else None
    return wiring.kind, wiring.backend, wiring.pool, embedder


def heaviest(searches: Sequence[Search], first: Set[str]) -> tuple[tuple[Search, ...], tuple[Search, ...]]:
    """Those that fit into a plan, and the rest; both in order.

    Lanes that must answer are kept before any other, then those of the corpora in `first`, then the heaviest, of equal
    ones the earlier.
    """
    if len(searches) <= limits.MAX_LANES:
        return tuple(searches), ()
    ranked = sorted(range(len(searches)), key=lambda position: _standing(searches[position], first, position))
    kept = set(ranked[: limits.MAX_LANES])
    return (
        tuple(search for position, search in enumerate(searches) if position in kept),
        tuple(search for position, search in enumerate(searches) if position not in kept),
    )


def _standing(search: Search, first: Set[str], position: int) -> tuple[bool, bool, float, int]:
    return search.requirement is not Requirement.MUST, first.isdisjoint(search.corpora), -search.weight, position
