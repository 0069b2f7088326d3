"""The port behind which the registry of corpora is kept: read from memory, written by compare-and-set.

Reading never waits: every process holds all cards, and a store keeps them current. A change is in every running
process within a second; a lost connection leaves the last known cards, never none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from fanfuse_contracts.corpus import CorpusCard


class ConflictError(RuntimeError):
    """Somebody else changed the card meanwhile: nothing was written."""


class ReadOnlyStoreError(RuntimeError):
    """The registry can't be written while processes run; the message says where it is kept."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A card as it stands in the registry. `revision` 0: never written, or deleted without a trace."""

    card: CorpusCard | None
    revision: int


class CorporaReader(Protocol):
    """What services read, once per message."""

    @property
    def revision(self) -> int:
        """Highest revision of the registry that is applied here; it never falls."""
        ...

    @property
    def values(self) -> Mapping[str, CorpusCard]:
        """Every card by `<tenant>.<corpus>`."""
        ...

    def of_tenant(self, tenant: str) -> tuple[CorpusCard, ...]:
        """The corpora of one tenant, by id; empty for an unknown tenant."""
        ...

    def get(self, tenant: str, corpus: str) -> CorpusCard | None:
        """One corpus, or None."""
        ...

    def on_change(self, callback: Callable[[str, CorpusCard | None], None]) -> None:
        """Call with key and card (None: deleted) after each change, and now for every known card."""
        ...


class CorpusStore(CorporaReader, Protocol):
    """A registry of corpora."""

    async def start(self, timeout_s: float = 10.0) -> None:
        """Return when every present card is known; raises `TimeoutError`."""
        ...

    async def stop(self) -> None:
        """Stop following changes."""
        ...

    def reread(self) -> None:
        """Look again soon: the bus was away."""
        ...

    async def read(self, tenant: str, corpus: str) -> Registered:
        """The card as it stands now, with the revision that a write must name."""
        ...

    async def put(self, card: CorpusCard, over: int) -> int:
        """Write a card over a known revision; returns the new one.

        Raises `ConflictError`, `ReadOnlyStoreError`.
        """
        ...

    async def delete(self, tenant: str, corpus: str, over: int) -> int:
        """Take a corpus out; returns the revision from which on it is gone.

        Raises `ConflictError`, `ReadOnlyStoreError`.
        """
        ...
