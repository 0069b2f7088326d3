"""What a process knows of a registry: the present values by key, and who wants to hear of changes.

In: changes with their revision, in any order, also twice. Out: the values, and one call per change. An older revision
never replaces a newer one. It waits for nothing and reads nothing itself; of time it knows only how long the registry
has been silent.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

from fanfuse_contracts.base import Model
from fanfuse_contracts.corpus import CorpusCard

M = TypeVar("M", bound=Model)


class Known(Generic[M]):
    """Values by key, each at the newest revision heard of."""

    def __init__(self) -> None:
        self._values: dict[str, M] = {}
        self._revisions: dict[str, int] = {}
        self._callbacks: list[Callable[[str, M | None], None]] = []
        self._revision = 0
        self._answered_s = time.monotonic()

    @property
    def age_s(self) -> float:
        """Seconds since the registry last answered; what is known may be that old."""
        return time.monotonic() - self._answered_s

    def note_answer(self) -> None:
        """The registry answered just now, whatever it said."""
        self._answered_s = time.monotonic()

    @property
    def revision(self) -> int:
        """Highest revision of the registry that is applied here; it never falls in the life of a registry."""
        return self._revision

    @property
    def values(self) -> Mapping[str, M]:
        """Key to value."""
        return self._values

    def on_change(self, callback: Callable[[str, M | None], None]) -> None:
        """Call with key and value (None: deleted) after each change, and now for every known value."""
        self._callbacks.append(callback)
        for key, value in self._values.items():
            callback(key, value)

    def apply(self, key: str, value: M | None, revision: int) -> None:
        """Take in a change. While callbacks are told, `revision` is still the one before it."""
        if revision > self._revisions.get(key, 0):
            self._revisions[key] = revision
            self._set(key, value)
        self.pass_over(revision)

    def confirm(self, key: str, value: M | None, revision: int) -> None:
        """Take in what certainly stands in the registry; told only where it differs from what is known."""
        if value == self._values.get(key):
            self._revisions[key] = revision
            self.pass_over(revision)
        else:
            self.apply(key, value, revision)

    def pass_over(self, revision: int) -> None:
        """Count a revision that changed no value here."""
        self._revision = max(self._revision, revision)

    def keep_only(self, present: Collection[str]) -> None:
        """Drop what vanished without a trace."""
        for key in self._values.keys() - set(present):
            self._set(key, None)

    def begin_anew(self) -> None:
        """The registry was made anew, so its revisions begin again. The values stay until it tells of them."""
        self._revisions.clear()
        self._revision = 0

    def _set(self, key: str, value: M | None) -> None:
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value
        for callback in self._callbacks:
            callback(key, value)


class KnownCards(Known[CorpusCard]):
    """Every corpus of every tenant, by `<tenant>.<corpus>`."""

    def __init__(self) -> None:
        super().__init__()
        self._by_tenant: dict[str, dict[str, CorpusCard]] = {}
        self._sorted: dict[str, tuple[CorpusCard, ...]] = {}
        self.on_change(self._regroup)

    def _regroup(self, key: str, card: CorpusCard | None) -> None:
        tenant, _, corpus = key.partition(".")
        self._sorted.pop(tenant, None)
        if card is None:
            self._by_tenant.get(tenant, {}).pop(corpus, None)
        else:
            self._by_tenant.setdefault(tenant, {})[corpus] = card

    def of_tenant(self, tenant: str) -> tuple[CorpusCard, ...]:
        """The corpora of one tenant, by id; the same object until one changes. Empty for an unknown tenant."""
        found = self._sorted.get(tenant)
        if found is None:
            cards = self._by_tenant.get(tenant)
            if cards is None:
                return ()
            found = self._sorted[tenant] = tuple(cards[corpus] for corpus in sorted(cards))
        return found

    def get(self, tenant: str, corpus: str) -> CorpusCard | None:
        """One corpus, or None."""
        return self._by_tenant.get(tenant, {}).get(corpus)
