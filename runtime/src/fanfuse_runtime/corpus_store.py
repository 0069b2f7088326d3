"""The port behind which the registry of corpora is kept: read from memory, written by compare-and-set.

Reading never waits: every process holds all cards, and a store keeps them current. A change is in every running
process within a second; a lost connection leaves the last known cards, never none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import ValidationError

from fanfuse_contracts.corpus import CorpusCard


class RegistryError(Exception):
    """The registry of corpora can't do what was asked; the message is one line that says what to do."""


class ConflictError(RegistryError):
    """Somebody else changed the card meanwhile: nothing was written."""

    def __init__(self, tenant: str, corpus: str) -> None:
        super().__init__(
            f"another command changed corpus {corpus} of tenant {tenant} meanwhile: nothing was changed, run again"
        )


class ReadOnlyStoreError(RegistryError):
    """The registry can't be written in this way while processes run; the message says where it is kept."""


class UnreadableCardError(RegistryError):
    """What is registered under this name is no card that this version can read."""

    def __init__(self, tenant: str, corpus: str, why: str, revision: int = 0) -> None:
        """`revision`: of what stands there; a deletion must name it."""
        super().__init__(
            f"corpus {corpus} of tenant {tenant} is registered with a card that this version can't read ({why}): "
            f"use the version that wrote it, or take it away with `fanfuse delete --tenant {tenant} --corpus {corpus}` "
            "and index again"
        )
        self.tenant, self.corpus, self.revision = tenant, corpus, revision


class StoreUnavailableError(RegistryError):
    """The place where the registry is kept can't be reached, or can't be used as it is."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A card as it stands in the registry. `revision` 0: never written, or deleted without a trace."""

    card: CorpusCard | None
    revision: int
    fault: UnreadableCardError | None = None
    """Why what stands there is no card."""


def registered_card(tenant: str, corpus: str, data: bytes, revision: int) -> Registered:
    """What a registry holds under this name, readable or not."""
    try:
        return Registered(stored_card(tenant, corpus, data, revision), revision)
    except UnreadableCardError as error:
        return Registered(None, revision, error)


def stored_card(tenant: str, corpus: str, data: bytes, revision: int = 0) -> CorpusCard:
    """The card that a registry holds under this name; raises `UnreadableCardError`, also for the card of another."""
    try:
        card = CorpusCard.from_stored(data)
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc'])) or 'the card'}: {first['msg']}"
        raise UnreadableCardError(tenant, corpus, why, revision) from error
    if (card.tenant, card.corpus) != (tenant, corpus):
        # Under another's name it would be told to a tenant that it is not of.
        raise UnreadableCardError(tenant, corpus, f"it is the card of {card.tenant}/{card.corpus}", revision)
    return card


class CorporaReader(Protocol):
    """What services read, once per message."""

    @property
    def revision(self) -> int:
        """Highest revision of the registry that is applied here; it never falls in the life of a registry."""
        ...

    @property
    def age_s(self) -> float:
        """Seconds since the registry last answered; what is known may be that old."""
        ...

    @property
    def values(self) -> Mapping[str, CorpusCard]:
        """Every card by `<tenant>.<corpus>`."""
        ...

    def of_tenant(self, tenant: str) -> tuple[CorpusCard, ...]:
        """The corpora of one tenant, by id; the same object until one changes. Empty for an unknown tenant."""
        ...

    def get(self, tenant: str, corpus: str) -> CorpusCard | None:
        """One corpus, or None."""
        ...

    def on_change(self, callback: Callable[[str, CorpusCard | None], None]) -> None:
        """Call with key and card (None: deleted) after each change, and now for every known card.

        While a change is told, `revision` is still the one before it.
        """
        ...


class CorpusStore(CorporaReader, Protocol):
    """A registry of corpora. A card that can't be read counts as absent for readers: fail closed, and say so.

    `start` is for who follows the registry; single cards are read and written without it.
    """

    async def start(self, timeout_s: float = 10.0) -> None:
        """Follow changes; returns when every present card is known. Raises `TimeoutError`, `StoreUnavailableError`."""
        ...

    async def stop(self) -> None:
        """Stop following changes, and close what was opened."""
        ...

    def reread(self) -> None:
        """Look again soon: the bus was away."""
        ...

    async def read(self, tenant: str, corpus: str) -> Registered:
        """The card as it stands now, with the revision that a write must name. Raises `UnreadableCardError`."""
        ...

    async def read_all(self) -> tuple[Registered, ...]:
        """Every card as it stands now, by tenant and id; of one that can't be read, why."""
        ...

    def objection(self, card: CorpusCard) -> str | None:
        """Why this card can't be registered here whatever its revision, and what to do; None where it can."""
        ...

    async def put(self, card: CorpusCard, over: int) -> int:
        """Write a card over a known revision (0: it was never written); returns the new revision.

        Raises `ConflictError`, `ReadOnlyStoreError`, `StoreUnavailableError`.
        """
        ...

    async def delete(self, tenant: str, corpus: str, over: int) -> int:
        """Take out a card that stands at a known revision; returns the revision from which on it is gone.

        Raises `ConflictError`, `ReadOnlyStoreError`, `StoreUnavailableError`.
        """
        ...
