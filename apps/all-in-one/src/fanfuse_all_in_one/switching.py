"""Moves a corpus to another generation, or takes it out, and waits until every live instance has followed.

In: a card and the state it was made from. Out: the generations that were removed. It never removes what an instance
may still be serving.
"""

from pathlib import Path
from typing import Final

from fanfuse_all_in_one.failures import ConflictError, NotAppliedError
from fanfuse_all_in_one.operating import Operator
from fanfuse_backend_workers.generations import CorpusName, GenerationError, remove_unused
from fanfuse_contracts import limits
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.corpus_store import Registered

APPLY_TIMEOUT_S: Final = 15.0
_DRAIN_TIMEOUT_S: Final = limits.MAX_BUDGET_MS / 1e3 + 5.0


async def switch_to(operator: Operator, data_dir: Path, card: CorpusCard, before: Registered) -> tuple[str, ...]:
    """Point the registry to the card's generation. Raises `ConflictError`, `NotAppliedError`."""
    name = CorpusName(card.tenant, card.corpus)
    try:
        revision = await operator.put_card(card, before.revision)
    except ConflictError:
        _clean(data_dir, name, (await operator.card(card.tenant, card.corpus)).card)
        raise
    await wait_applied(operator, revision)
    return _clean(data_dir, name, card)


async def take_out(operator: Operator, data_dir: Path, card: CorpusCard, before: Registered) -> tuple[str, ...]:
    """Take a corpus out of the registry and remove its files. Raises `ConflictError`, `NotAppliedError`."""
    revision = await operator.delete_card(card.tenant, card.corpus, before.revision)
    await wait_applied(operator, revision)
    return _clean(data_dir, CorpusName(card.tenant, card.corpus), None)


async def settle(operator: Operator, data_dir: Path, card: CorpusCard, registered: Registered) -> tuple[str, ...]:
    """Finish what an interrupted command began: wait until the registered card is served, then remove old files."""
    await wait_applied(operator, registered.revision)
    return _clean(data_dir, CorpusName(card.tenant, card.corpus), card)


def _clean(data_dir: Path, name: CorpusName, live: CorpusCard | None) -> tuple[str, ...]:
    if not data_dir.joinpath(*name).is_dir():
        return ()  # indexed on another machine
    keep = [live.generation] if live is not None and live.generation else []
    try:
        return remove_unused(data_dir, name, keep)
    except GenerationError:
        return ()  # the next index run of this corpus has begun already, and cleans up at its own end


async def wait_applied(operator: Operator, revision: int) -> None:
    """Return when every live instance has applied a revision of the registry."""
    behind = await operator.wait_applied(revision, APPLY_TIMEOUT_S)
    if behind:
        names = ", ".join(f"{beat.service.value} {beat.instance}" for beat in behind)
        raise NotAppliedError(
            f"the change is registered, but {names} did not follow within {APPLY_TIMEOUT_S:.0f} s: "
            "look at their logs; the old index is kept until the next run"
        )


async def wait_answered(operator: Operator) -> None:
    """Return when every query accepted before this call has its answer."""
    if await operator.alive() and not await operator.wait_drained(_DRAIN_TIMEOUT_S):
        raise NotAppliedError(
            f"queries accepted before the change are not answered after {_DRAIN_TIMEOUT_S:.0f} s: "
            "look at `fanfuse status`, then run again"
        )
