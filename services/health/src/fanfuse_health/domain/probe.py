"""The probe of a half-open backend: which corpus it asks, what it sends, and what a reply means.

In: cards, the pools that are present, ids and times. Out: targets, a command, a verdict. It is always a command of
health itself; a user's query is never risked on a backend that may be down.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.filters import digest
from fanfuse_contracts.health import PROBE_LANE
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import LaneReply

TEXT: Final = "health probe"
SEED: Final = "health probe"
"""Resolves to no entity: an empty reply proves the engine as well as a full one."""


class Target(NamedTuple):
    """A corpus that can stand for its backend."""

    card: CorpusCard
    wiring: Wiring


class Verdict(NamedTuple):
    """What a probe showed."""

    passed: bool
    reason: str


NO_REPLY: Final = Verdict(False, "no reply in time")
NO_WORKER: Final = Verdict(False, "no worker serves its pool")


def targets(cards: Iterable[CorpusCard], kind: Kind, backend: str) -> tuple[Target, ...]:
    """Every corpus wired to the backend, the smallest first."""
    found = [
        Target(card, wiring)
        for card in cards
        for wiring in card.backends
        if wiring.kind is kind and wiring.backend == backend
    ]
    return tuple(sorted(found, key=lambda target: (target.card.chunks, target.card.tenant, target.card.corpus)))


def choose(candidates: tuple[Target, ...], version: int, absent: Callable[[Kind, str], bool]) -> Target | None:
    """One target whose pool has a worker; another one each time, so that one broken corpus does not decide alone."""
    alive = [target for target in candidates if not absent(target.wiring.kind, target.wiring.pool)]
    return alive[version % len(alive)] if alive else None


def pools_absent(candidates: tuple[Target, ...], absent: Callable[[Kind, str], bool]) -> bool:
    """True if no pool that serves the backend has a worker."""
    return bool(candidates) and all(absent(target.wiring.kind, target.wiring.pool) for target in candidates)


def build_command(target: Target, query_id: str, now_ns: int, budget_ms: int) -> RetrieveCommand:
    """The smallest search there is: one hit of a fixed text, without filter. `now_ns`: broker time."""
    card, wiring = target
    return RetrieveCommand(
        tenant=card.tenant,
        query_id=query_id,
        lane=PROBE_LANE,
        corpus=card.corpus,
        kind=wiring.kind,
        backend=wiring.backend,
        text=TEXT,
        vector=_vector(card) if wiring.kind is Kind.VECTOR else None,
        seeds=(SEED,) if wiring.kind is Kind.GRAPH else (),
        window=1,
        filter_digest=digest(card.tenant, card.corpus, None),
        submitted_ns=now_ns,
        budget_ms=budget_ms,
    )


def _vector(card: CorpusCard) -> tuple[float, ...] | None:
    # The engine is on trial, not the embedder: an embedder that is down or knows another language says nothing of it.
    if card.embedder is None:
        return None
    return (1.0, *(0.0,) * (card.embedder.dimensions - 1))


def verdict(reply: LaneReply) -> Verdict:
    """Passed unless the backend is to blame. A request's own fault shows that the backend is there to find it."""
    if reply.failure is None:
        return Verdict(True, reply.outcome.value)
    kind = reply.failure.kind
    # An expired command was never tried: it proves nothing good.
    failed = kind.counts_against_backend or kind is FailureKind.EXPIRED
    return Verdict(not failed, kind.value)
