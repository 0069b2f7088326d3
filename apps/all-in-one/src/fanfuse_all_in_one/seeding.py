"""Brings the registry in line with the operators' file, corpus by corpus, by compare-and-set.

In: a file. Out: what was created, changed, left as it was, or pruned. What the file states replaces what stands; what
`index` made is kept, and so is who may read a corpus where the file does not say; a card that would not change is not
written. A contradiction is found before anything is written.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from fanfuse_all_in_one.deleting import delete_chunks
from fanfuse_all_in_one.failures import ConflictError, OperatorError
from fanfuse_all_in_one.operating import Operator
from fanfuse_all_in_one.switching import wait_applied
from fanfuse_contracts.config import FanfuseConfig, Store
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.card_merge import StatedOtherwiseError, changed_fields, with_index

_TRIES: Final = 3


class Change(StrEnum):
    """What became of one corpus."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class SeededCorpus:
    """One corpus of the file, or one that was pruned. `fields`: the parts of its card that changed."""

    tenant: str
    corpus: str
    change: Change
    fields: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`<tenant>/<corpus>`."""
        return f"{self.tenant}/{self.corpus}"


@dataclass(frozen=True, slots=True)
class SeedReport:
    """A finished run: the file's corpora in its order, then the pruned ones."""

    rows: tuple[SeededCorpus, ...]


class _Stated(NamedTuple):
    """A corpus of the file."""

    card: CorpusCard
    says_who_may_read: bool

    def over(self, known: CorpusCard | None) -> CorpusCard:
        """What the registry is to hold. Raises `OperatorError` for a contradiction."""
        card = self.card
        if known is not None and not self.says_who_may_read:
            # The default lets everybody of the tenant in: that must be said to be done.
            card = card.model_copy(update={"public": known.public, "readers": known.readers})
        try:
            return with_index(card, known)
        except StatedOtherwiseError as error:
            raise OperatorError(str(error)) from error


async def seed_corpora(
    operator: Operator, config: FanfuseConfig, *, prune: bool = False, dry_run: bool = False
) -> SeedReport:
    """Write the corpora of a file to the registry; when it returns, every live instance routes to them.

    `prune`: delete, with index and stored answers, the corpora of the file's tenants that the file does not name.
    `dry_run`: only say what would be done. Raises an `OperatorError`; what stood before a `ConflictError` or a
    `NotAppliedError` may be written in part: run it again.
    """
    if config.registry.store is Store.MEMORY:
        raise OperatorError(
            "the file itself is the registry (registry.store: memory): nothing to seed, start the services again"
        )
    if config.registry != operator.config.registry:
        raise OperatorError("this command is connected to another registry than the file's: connect it with the file")
    cards = config.cards()
    stated = [_Stated(card, one.card.says_who_may_read) for card, one in zip(cards, config.corpora, strict=True)]
    rows = [_row(one, (await operator.card(one.card.tenant, one.card.corpus)).card) for one in stated]
    surplus = await _surplus(operator, cards) if prune else []
    if not dry_run:
        new = [one for one, row in zip(stated, rows, strict=True) if row.change is not Change.UNCHANGED]
        await _write_all(operator, new)
        for card in surplus:
            await _delete(operator, card)
    pruned = (SeededCorpus(card.tenant, card.corpus, Change.PRUNED) for card in surplus)
    return SeedReport((*rows, *pruned))


def _row(stated: _Stated, known: CorpusCard | None) -> SeededCorpus:
    merged = stated.over(known)
    if known is None:
        return SeededCorpus(merged.tenant, merged.corpus, Change.CREATED)
    fields = changed_fields(known, merged)
    return SeededCorpus(merged.tenant, merged.corpus, Change.CHANGED if fields else Change.UNCHANGED, fields)


async def _write_all(operator: Operator, new: Sequence[_Stated]) -> None:
    revisions = [await _write(operator, one) for one in new]
    if revisions:
        await wait_applied(operator, max(revisions))


async def _write(operator: Operator, stated: _Stated) -> int:
    for _ in range(_TRIES - 1):
        with suppress(ConflictError):  # an index run moved its pointer: what it wrote is kept
            return await _write_once(operator, stated)
    return await _write_once(operator, stated)


async def _write_once(operator: Operator, stated: _Stated) -> int:
    before = await operator.card(stated.card.tenant, stated.card.corpus)
    return await operator.put_card(stated.over(before.card), before.revision)


async def _surplus(operator: Operator, cards: Sequence[CorpusCard]) -> list[CorpusCard]:
    tenants = {card.tenant for card in cards}
    named = {(card.tenant, card.corpus) for card in cards}
    found = await operator.cards()
    return [card for card in found if card.tenant in tenants and (card.tenant, card.corpus) not in named]


async def _delete(operator: Operator, card: CorpusCard) -> None:
    if card.generation is not None:
        await delete_chunks(operator, operator.data_dir, card.tenant, card.corpus, None)
        return
    before = await operator.card(card.tenant, card.corpus)
    await wait_applied(operator, await operator.delete_card(card.tenant, card.corpus, before.revision))
