"""Moves a corpus to another generation, or takes it out, and waits until every live instance has followed.

In: a card and the state it was made from. Out: the generations that were removed. It never removes what an instance
may still be serving.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

from fanfuse_all_in_one.failures import ConflictError, NotAppliedError
from fanfuse_all_in_one.operating import Operator
from fanfuse_all_in_one.publishing import alone_on, check_servers, point_servers, remove_from_servers, servers_of
from fanfuse_backend_workers.generations import CorpusName, GenerationError, remove_unused
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import IndexKey
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
        live = (await operator.card(card.tenant, card.corpus)).card
        remove_files(data_dir, name, live)
        await _give_up(operator, card, live)
        raise
    await wait_applied(operator, revision)
    return await _tidy(operator, data_dir, card, before.card)


async def take_out(operator: Operator, data_dir: Path, card: CorpusCard, before: Registered) -> tuple[str, ...]:
    """Take a corpus out of the registry, then remove its files and what its servers hold.

    Raises `OperatorError` where a server is away (nothing was changed), `ConflictError`, `NotAppliedError`.
    """
    name, servers = CorpusName(card.tenant, card.corpus), servers_of(operator, card)
    await check_servers(servers)
    with alone_on(servers, data_dir, name):
        revision = await operator.delete_card(card.tenant, card.corpus, before.revision)
        await wait_applied(operator, revision)
        return _all(remove_files(data_dir, name, None), await remove_from_servers(servers, name))


async def settle(operator: Operator, data_dir: Path, card: CorpusCard, registered: Registered) -> tuple[str, ...]:
    """Finish what an interrupted command began: wait until the registered card is served, then remove old files."""
    with alone_on(servers_of(operator, card), data_dir, CorpusName(card.tenant, card.corpus)):
        await wait_applied(operator, registered.revision)
        return await _tidy(operator, data_dir, card, None)


async def _tidy(operator: Operator, data_dir: Path, card: CorpusCard, before: CorpusCard | None) -> tuple[str, ...]:
    """Remove what the card took the place of, on disk and on the servers of both."""
    name = CorpusName(card.tenant, card.corpus)
    removed, now = remove_files(data_dir, name, card), servers_of(operator, card)
    if card.generation is not None:
        await point_servers(now, IndexKey(*name, card.generation))
    kept = [card.generation] if card.generation else []
    removed = _all(removed, await remove_from_servers(now, name, kept))
    left = [server for server in servers_of(operator, before) if server not in now]
    return _all(removed, await remove_from_servers(left, name))


async def _give_up(operator: Operator, card: CorpusCard, live: CorpusCard | None) -> None:
    """Remove a generation that lost against another run; where that fails, the next run removes it."""
    if card.generation is None or (live is not None and live.generation == card.generation):
        return
    for server in servers_of(operator, card):
        with suppress(SearchError):
            await server.client.delete(IndexKey(card.tenant, card.corpus, card.generation))


def _all(*removed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({generation for part in removed for generation in part}))


def remove_files(data_dir: Path, name: CorpusName, live: CorpusCard | None = None) -> tuple[str, ...]:
    """Remove what a data directory holds of a corpus but for the live generation; returns what was removed."""
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
