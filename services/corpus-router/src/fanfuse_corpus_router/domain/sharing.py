"""Which ready lanes become one search: several corpora on one backend, or each by itself.

In: ready lanes of all selected corpora, in order. Out: searches, at most `MAX_LANES` of them kept. A search covers only
corpora that were ready by themselves, so each of them can enforce the filter and has this very input.
"""

import math
from collections.abc import Sequence, Set
from itertools import chain, islice
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.quorum import Requirement, strictest
from fanfuse_corpus_router.domain.lanes import ReadyLane, WiredCorpus
from fanfuse_corpus_router.domain.wired import WiredLane


class Search(NamedTuple):
    """One lane of a plan: of one corpus, or shared by several that agree in kind, backend, pool and input."""

    lead: WiredLane
    """The first one."""
    corpora: tuple[str, ...]
    """Whose chunks are searched, sorted."""
    weight: float
    """Backend weight × corpus weight: the strongest backend weight, and the corpora's share of the relevance."""
    requirement: Requirement
    """That of its strictest corpus: with the lane all of them lose theirs."""
    members: tuple[WiredLane, ...] = ()
    """Empty for a lane of one corpus."""

    @property
    def lanes(self) -> tuple[WiredLane, ...]:
        """The wired lanes that it stands for."""
        return self.members or (self.lead,)


_Weighed = tuple[ReadyLane, float]
"""A lane and the share of its corpus."""


def group_lanes(corpora: Sequence[WiredCorpus], *, fan_out: bool) -> tuple[Search, ...]:
    """One search per ready lane if `fan_out`; else lanes that one call can serve are joined where the first stands."""
    if fan_out:
        return tuple(
            [
                Search(lane, lane.alone, weight * corpus.selected.weight, lane.requirement)
                for corpus in corpora
                for lane, weight in corpus.lanes.ready
            ]
        )
    groups: dict[object, list[_Weighed]] = {}
    for corpus in corpora:
        for ready in corpus.lanes.ready:
            groups.setdefault(ready.lane.identity, []).append((ready, corpus.selected.weight))
    return tuple(map(_together, groups.values()))


def _together(group: Sequence[_Weighed]) -> Search:
    lanes = tuple(ready.lane for ready, _ in group)
    if len(group) == 1:
        ready, share = group[0]
        return Search(ready.lane, ready.lane.alone, ready.weight * share, ready.lane.requirement)
    share = min(math.fsum(share for _, share in group), 1.0)
    weight = max(ready.weight for ready, _ in group) * share
    corpora = tuple(sorted(lane.key[0] for lane in lanes))
    return Search(lanes[0], corpora, weight, strictest(lane.requirement for lane in lanes), lanes)


def heaviest(searches: Sequence[Search], first: Set[str]) -> tuple[tuple[Search, ...], tuple[Search, ...]]:
    """Those that fit into a plan, and the rest; both in order.

    Lanes that must answer are kept before any other, then those of the corpora in `first`, then the heaviest, of equal
    ones the earlier.
    """
    if len(searches) <= limits.MAX_LANES:
        return tuple(searches), ()
    classes: tuple[list[int], ...] = ([], [], [], [])
    for position, search in enumerate(searches):
        must = search.requirement is Requirement.MUST
        classes[(not must) * 2 + first.isdisjoint(search.corpora)].append(position)
    weights = [search.weight for search in searches]
    # Sorting is stable, reversed too: of equal ones the earlier stays in front.
    ranked = chain.from_iterable(sorted(one, key=weights.__getitem__, reverse=True) for one in classes)
    kept = set(islice(ranked, limits.MAX_LANES))
    return (
        tuple([search for position, search in enumerate(searches) if position in kept]),
        tuple([search for position, search in enumerate(searches) if position not in kept]),
    )
