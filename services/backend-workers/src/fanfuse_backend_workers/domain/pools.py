"""The pools of workers a process serves.

In: the setting and the cards. Out: pools, and the backends seen behind each. A name that is no token is refused.
"""

from collections.abc import Iterable
from typing import NamedTuple

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.health import ServedPool
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


def served_pools(pools: Iterable[Pool], cards: Iterable[CorpusCard]) -> tuple[ServedPool, ...]:
    """Each pool with the backends that some card wires to it, sorted."""
    known = list(cards)
    return tuple(ServedPool(kind=pool.kind, pool=pool.name, backends=_backends(pool, known)) for pool in pools)


def _backends(pool: Pool, cards: Iterable[CorpusCard]) -> tuple[str, ...]:
    wirings = (wiring for card in cards for wiring in card.backends)
    return tuple(sorted({wiring.backend for wiring in wirings if (wiring.kind, wiring.pool) == pool}))
