"""`fanfuse index`, `delete` and `corpus list`: what is searched."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from fanfuse_cli import corpus_routing
from fanfuse_cli.console import remark, results
from fanfuse_cli.failures import FAILED, USAGE, plainly, stop
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.options import (
    DEFAULT_DATA,
    AsJson,
    ConfigFile,
    Corpus,
    DataDir,
    NatsUrl,
    Tenant,
    stated_config,
    stated_url,
)
from fanfuse_cli.progress import index_progress
from fanfuse_contracts.config import FanfuseConfig, Store
from fanfuse_contracts.corpus import CorpusCard

if TYPE_CHECKING:
    from fanfuse_indexing import LoadReport

_SHOWN = 20

Source = Annotated[
    Path,
    typer.Argument(
        help="JSONL file, or a folder of Markdown, text, PDF, HTML, DOCX, notebooks and Python.", exists=True
    ),
]
Public = Annotated[bool | None, typer.Option("--public/--private", help="Readable without a principal.")]
Readers = Annotated[list[str] | None, typer.Option("--reader", help="Role that may read it; may be repeated.")]
Vectors = Annotated[Path | None, typer.Option(help="Precomputed vectors (.npz).", exists=True, dir_okay=False)]
Name = Annotated[str | None, typer.Option("--display-name", help="Name for people.")]
Description = Annotated[str | None, typer.Option(help="What is in it, for people.")]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Chunk or document; may be repeated. None: the corpus.")]


@plainly
def index(
    path: Source,
    tenant: Tenant,
    corpus: Corpus,
    public: Public = None,
    reader: Readers = None,
    vectors: Vectors = None,
    display_name: Name = None,
    description: Description = None,
    file: ConfigFile = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Make a path the whole content of a corpus. What runs goes on answering, and finds the new text when this ends."""
    from fanfuse_all_in_one.databus import data_bus
    from fanfuse_all_in_one.failures import NothingToIndexError
    from fanfuse_all_in_one.indexing import Indexed, Wish, index_corpus
    from fanfuse_all_in_one.operating import operator_on
    from fanfuse_indexing import Loading

    loading = Loading(path, vectors=vectors)
    total = loading.total_bytes()
    readers = frozenset(reader) if reader else None
    wish = Wish(tenant, corpus, public, readers, display_name, description)
    config = stated_config(file)

    async def run(url: str, alone: bool) -> Indexed:
        async with operator_on(url, alone=alone, config=config, data_dir=data) as operator:
            with index_progress(f"{tenant}/{corpus}", lambda: (loading.bytes_read, total)) as told:
                return await index_corpus(operator, data, wish, loading, lambda: loading.report.fields, told)

    with data_bus(data, stated_url(nats_url), announce=False, say=remark) as bus:
        try:
            done = run_until_signal(run(bus.url, bus.server is not None))
        except NothingToIndexError as error:
            _tell(loading.report)
            stop(f"{_left_out(loading.report)}{error}", USAGE)
    report = loading.report
    readable = "public" if done.card.public else f"readers: {', '.join(sorted(done.card.readers)) or 'any principal'}"
    print(f"indexed {report.loaded} documents as {done.card.chunks} chunks: {tenant}/{corpus} ({readable})")
    _tell(report)
    if report.left_out:
        stop(f"{_left_out(report)}what is listed above is not in the index, the rest is", FAILED)


def _tell(report: "LoadReport") -> None:
    """The first remarks, faults before notices, and how many more there are."""
    for note in (*report.faults[:_SHOWN], *report.notices)[:_SHOWN]:
        remark(f"  {note}")
    more = report.left_out + report.noticed - _SHOWN
    if more > 0:
        remark(f"  and {more} more remarks")


def _left_out(report: "LoadReport") -> str:
    """How much could not be read, and why; nothing if all could be."""
    reasons = ", ".join(f"{count} {code}" for code, count in sorted(report.fault_counts.items()))
    return f"{report.left_out} left out ({reasons}): " if report.left_out else ""


@plainly
def delete(
    tenant: Tenant,
    corpus: Corpus,
    identifier: Ids = None,
    file: ConfigFile = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Delete chunks, documents, or a whole corpus. Nothing returns them once this ends."""
    from fanfuse_all_in_one.databus import data_bus
    from fanfuse_all_in_one.deleting import Deleted, delete_chunks
    from fanfuse_all_in_one.operating import operator_on

    config = stated_config(file)

    async def run(url: str, alone: bool) -> Deleted:
        async with operator_on(url, alone=alone, config=config, data_dir=data) as operator:
            with index_progress(f"{tenant}/{corpus}") as told:
                return await delete_chunks(operator, data, tenant, corpus, identifier or None, told)

    with data_bus(data, stated_url(nats_url), announce=False, say=remark) as bus:
        done = run_until_signal(run(bus.url, bus.server is not None))
    left = "the corpus is gone" if done.left is None else f"{done.left} left"
    print(f"deleted {done.chunks} chunks of {tenant}/{corpus}, {left}; {done.answers} stored answers removed")


corpus_app = typer.Typer(help="Corpora and their capability cards.", no_args_is_help=True)
corpus_app.command("route")(corpus_routing.route_corpora)
corpus_app.command("seed")(corpus_routing.seed)


@corpus_app.command("list")
@plainly
def list_corpora(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's.")] = None,
    as_json: AsJson = False,
    file: ConfigFile = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """List the corpora that are registered."""
    found = _registered(stated_config(file), data, nats_url)
    cards = [card for card in found if tenant in (None, card.tenant)]
    if as_json:
        print(f"[{','.join(card.to_json().decode() for card in cards)}]")
    else:
        results().print(corpus_table(cards) if cards else "no corpus yet: see `fanfuse index --help`")


def _registered(config: FanfuseConfig | None, data: Path, nats_url: str | None) -> list[CorpusCard]:
    from fanfuse_all_in_one.databus import data_bus
    from fanfuse_all_in_one.operating import cards_of_file, operator_on

    async def run(url: str, alone: bool) -> list[CorpusCard]:
        async with operator_on(url, alone=alone, config=config, data_dir=data) as operator:
            found = await operator.registered()
        for each in found:
            if each.fault is not None:
                remark(f"not read: {each.fault}")
        return [each.card for each in found if each.card is not None]

    if config is not None and config.registry.store is Store.MEMORY:
        return run_until_signal(cards_of_file(config, data))
    with data_bus(data, stated_url(nats_url), announce=False, say=remark) as bus:
        return run_until_signal(run(bus.url, bus.server is not None))


def corpus_table(cards: list[CorpusCard]) -> Table:
    """The cards, one a row."""
    table = Table(
        "tenant", "corpus", "chunks", "readers", "backends", "indexed at", "description", box=None, pad_edge=False
    )
    for card in cards:
        readers = "public" if card.public else ", ".join(sorted(card.readers)) or "any principal"
        backends = ", ".join(f"{wiring.kind.value}/{wiring.backend}" for wiring in card.backends)
        about = escape(card.display_name or card.description)
        table.add_row(card.tenant, card.corpus, str(card.chunks), readers, backends, card.indexed_at or "never", about)
    return table
