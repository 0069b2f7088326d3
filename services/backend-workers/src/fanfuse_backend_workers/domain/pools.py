"""The pools of workers a process serves.

In: the setting, the cards, what is not open yet. Out: pools, and the backends seen behind each. A name that is no token
is refused.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.health import ColdLane, ServedPool
from fanfuse_contracts.tokens import check_token


class Pool(NamedTuple):
    """One pool: a kind and a name."""

    kind: Kind
    name: str


def parse_pools(text: str) -> tuple[Pool, ...]:
    """Pools of `kind/name,kind/name`; raises `ValueError` naming what is wrong."""
    pools = tuple(_parse_pool(part.strip()) for part in text.split(",") if part.strip())
    if not pools:
        raise ValueError("no pool is named: a worker serves at least one, such as keyword/main")
    if len(set(pools)) != len(pools):
        raise ValueError("a pool is named twice")
    return pools


def _parse_pool(text: str) -> Pool:
    kind, slash, name = text.partition("/")
    if not slash or kind not in set(Kind):
        kinds = ", ".join(known.value for known in Kind)
        raise ValueError(f"{text!r} is not <kind>/<pool> with a kind of {kinds}")
    return Pool(Kind(kind), check_token(name, "pool"))


LaneKey = tuple[str, str, Kind, str]
"""Tenant, corpus, kind and backend."""


def served_pools(
    pools: Iterable[Pool],
    cards: Iterable[CorpusCard],
    cold: Collection[LaneKey],
    oldest_shares: Mapping[Pool, float],
    servers: Mapping[Pool, tuple[str, ...]],
    unusable: Collection[tuple[Kind, str]] = (),
) -> tuple[ServedPool, ...]:
    """Each pool with the backends that some card wires to it, which of its backends are engine servers and which of
    these can't be used, what is cold of it, and its oldest command's share."""
    wired = _by_pool(cards)
    return tuple(
        _served(pool, wired.get(pool, ()), cold, oldest_shares[pool], servers.get(pool, ()), unusable) for pool in pools
    )


def _by_pool(cards: Iterable[CorpusCard]) -> dict[Pool, list[LaneKey]]:
    wired: dict[Pool, list[LaneKey]] = {}
    for card in cards:
        for wiring in card.backends:
            lane = (card.tenant, card.corpus, wiring.kind, wiring.backend)
            wired.setdefault(Pool(wiring.kind, wiring.pool), []).append(lane)
    return wired


def _served(
    pool: Pool,
    lanes: Iterable[LaneKey],
    cold: Collection[LaneKey],
    oldest_share: float,
    servers: tuple[str, ...],
    unusable: Collection[tuple[Kind, str]],
) -> ServedPool:
    known = list(lanes)
    unopened = sorted(lane for lane in known if lane in cold)[: limits.MAX_COLD_TOLD] if cold else ()
    return ServedPool(
        kind=pool.kind,
        pool=pool.name,
        backends=tuple(sorted({backend for *_, backend in known})),
        servers=servers,
        unusable=tuple(name for name in servers if (pool.kind, name) in unusable),
        cold=tuple(ColdLane(tenant=tenant, corpus=corpus, backend=name) for tenant, corpus, _, name in unopened),
        oldest_share=oldest_share,
    )
