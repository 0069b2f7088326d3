"""Brings a generation of a corpus to the engine servers it is wired with, and takes old ones away.

In: a finished generation in the data directory, and servers. Out: the same generation on each of them, complete. What
is searched is not touched: the registry says that. An interrupted run is gone on with where the contents are equal.
"""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from fanfuse_all_in_one.failures import NotAppliedError, OperatorError
from fanfuse_all_in_one.operating import Operator
from fanfuse_all_in_one.unfinished import (
    Unfinished,
    one_run_at_a_time,
    read_unfinished,
    remove_unfinished,
    write_unfinished,
)
from fanfuse_backend_workers.connections import Server, unhealthy
from fanfuse_backend_workers.generations import (
    CorpusName,
    digest_chunks,
    read_chunks,
    remove_generation,
    rename_generation,
)
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.server_writing import Contents, retried, write_generation
from fanfuse_backend_workers.servers import IndexKey, IndexShape
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.configfile import ConfigError

Progress = Callable[[str, int], None]

_HEALTH_WITHIN_S: Final = 10.0
_TIDY_FOR_S: Final = 10.0
"""How long a server that is away is waited for when only old generations are left to remove."""


def servers_of(operator: Operator, *cards: CorpusCard | None) -> tuple[Server, ...]:
    """The servers that any of these cards is wired with, each once. Raises `OperatorError`."""
    try:
        found = [server for card in cards if card is not None for server in operator.servers.of_card(card)]
    except ConfigError as error:
        raise OperatorError(str(error)) from error
    return tuple({server.key: server for server in found}.values())


@contextmanager
def alone_on(servers: Collection[Server], data_dir: Path, name: CorpusName) -> Iterator[None]:
    """No other command of this data directory changes the corpus on servers meanwhile: it would remove what this one
    has not switched to yet. Raises `OperatorError`."""
    if not servers:
        yield
        return
    with one_run_at_a_time(data_dir, name):
        yield


async def refuse_unstated_servers(operator: Operator, card: CorpusCard) -> None:
    """Raise `OperatorError` where this command takes a backend for embedded live workers have a server for: without
    their file it would write where nobody reads, or leave on the server what it deletes."""
    embedded = [w for w in card.backends if not operator.servers.is_server(w.kind, w.backend)]
    if not embedded:
        return
    told = {(pool.kind, name) for beat in await operator.alive() for pool in beat.pools for name in pool.servers}
    unstated = [f"{w.kind.value}/{w.backend}" for w in embedded if (w.kind, w.backend) in told]
    if unstated:
        raise OperatorError(
            f"to the workers that run, {' and '.join(unstated)} {'is' if len(unstated) == 1 else 'are'} on an engine "
            "server, and this command was not told which: give their file with -f; nothing was changed"
        )


async def check_servers(servers: Collection[Server]) -> None:
    """Raise `OperatorError` where one can't be used now: better before any work than after it."""
    problems = await asyncio.gather(*(unhealthy(server, _HEALTH_WITHIN_S) for server in servers))
    told = [f"{server.key} ({problem})" for server, problem in zip(servers, problems, strict=True) if problem]
    if told:
        raise OperatorError(f"not usable now: {', '.join(told)}; nothing was changed, run again when that is put right")


async def write_to_servers(
    servers: Sequence[Server], data_dir: Path, card: CorpusCard, progress: Progress
) -> CorpusCard:
    """Write the card's generation, which the data directory holds, to servers; the card with the id it got there.

    Raises `OperatorError`, which says how far it came; the data directory holds no such generation then. To be called
    inside of `alone_on`.
    """
    if not servers:
        return card
    name = CorpusName(card.tenant, card.corpus)
    folder = data_dir.joinpath(*name)
    run = await asyncio.to_thread(_take_up, folder, data_dir, card)
    try:
        for server in servers:
            run = await _write(server, folder, data_dir, card, run, progress)
    except BaseException:
        await asyncio.shield(asyncio.to_thread(remove_generation, data_dir, name, run.generation))
        raise
    remove_unfinished(folder)
    return card.model_copy(update={"generation": run.generation})


async def point_servers(servers: Collection[Server], key: IndexKey) -> None:
    """Have each server's own alias of the corpus name this generation. Raises `NotAppliedError`."""
    for server in servers:
        try:
            await retried(partial(server.client.publish, key), _TIDY_FOR_S)
        except SearchError as error:
            raise _left_over(server, error, "its alias names an older generation") from error


async def remove_from_servers(
    servers: Collection[Server], name: CorpusName, keep: Collection[str] = ()
) -> tuple[str, ...]:
    """Remove every generation of a corpus not in `keep`; returns the ids. Raises `NotAppliedError`."""
    removed: set[str] = set()
    for server in servers:
        try:
            removed |= await retried(partial(_remove, server, name, keep), _TIDY_FOR_S)
        except SearchError as error:
            raise _left_over(server, error, "it still holds generations that nobody searches") from error
    return tuple(sorted(removed))


async def _remove(server: Server, name: CorpusName, keep: Collection[str]) -> set[str]:
    old = set(await server.client.generations(*name)) - set(keep)
    for generation in sorted(old):
        await server.client.delete(IndexKey(*name, generation))
    return old


def _left_over(server: Server, error: SearchError, what: str) -> NotAppliedError:
    return NotAppliedError(
        f"the change is made and served, but {server.key} did not follow ({error.kind.value}: {error.message}): "
        f"{what}; run the same command again"
    )


def _take_up(folder: Path, data_dir: Path, card: CorpusCard) -> Unfinished:
    """The run to go on with: an earlier one of equal contents, whose id the generation gets, or a new one."""
    assert card.generation is not None
    name = CorpusName(card.tenant, card.corpus)
    shape = _shape(card, Kind.VECTOR)
    stated = repr((sorted(shape.fields.items()), shape.embedder)).encode()
    digest = hashlib.sha256(digest_chunks(data_dir, name, card.generation).encode() + stated).hexdigest()
    earlier = read_unfinished(folder)
    if earlier is None or earlier.digest != digest:
        return Unfinished(generation=card.generation, digest=digest)
    rename_generation(data_dir, name, card.generation, earlier.generation)
    return earlier


async def _write(
    server: Server, folder: Path, data_dir: Path, card: CorpusCard, run: Unfinished, progress: Progress
) -> Unfinished:
    place = _place(server)
    latest = run

    def acknowledged(done: int) -> None:
        nonlocal latest
        latest = latest.model_copy(update={"done": {**latest.done, place: done}})
        write_unfinished(folder, latest)
        progress(str(server.key), done)

    name = CorpusName(card.tenant, card.corpus)
    contents = Contents(
        IndexKey(*name, run.generation),
        _shape(card, server.key.kind),
        card.chunks,
        lambda skip: read_chunks(data_dir, name, run.generation, skip),
    )
    try:
        await write_generation(server.client, contents, run.done.get(place, 0), acknowledged)
    except SearchError as error:
        raise OperatorError(
            f"{server.key} did not take the corpus ({error.kind.value}: {error.message}); what is searched was not "
            f"changed. Run the same command again when that is put right: it goes on after {latest.done.get(place, 0)} "
            f"of {card.chunks} chunks"
        ) from error
    return latest


def _shape(card: CorpusCard, kind: Kind) -> IndexShape:
    return IndexShape(fields=card.fields, embedder=card.embedder if kind is Kind.VECTOR else None)


def _place(server: Server) -> str:
    """A server by name and address: what was written to another place was not written here."""
    config = server.config
    address = repr((config.engine.value, config.url, config.namespace, config.database)).encode()
    return f"{server.key} at {hashlib.sha256(address).hexdigest()[:16]}"
