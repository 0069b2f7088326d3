"""`fanfuse deadletter list|show|retry|drop`: what no retry of a service could help, for operators.

Texts of messages are shown by `show --payload` only.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.markup import escape
from rich.table import Table

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_cli.console import remark, results
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.options import DEFAULT_DATA, AsJson, DataDir, NatsUrl, running_bus
from fanfuse_contracts.enums import Stage

if TYPE_CHECKING:
    from fanfuse_all_in_one.dead_letters import Found, Letter
    from fanfuse_runtime.bus import Bus

T = TypeVar("T")

_TO_THE_SECOND = len("2026-01-01T00:00:00")

deadletter_app = typer.Typer(help="Messages that no retry of a service could help.", no_args_is_help=True)

Ids = Annotated[list[int], typer.Argument(min=1, help="Ids as `deadletter list` shows them.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")]
OfStage = Annotated[Stage | None, typer.Option("--stage", help="Only what this stage gave up.")]
Last = Annotated[int, typer.Option("--last", min=1, max=10_000, help="How many of the last to show.")]
WithPayload = Annotated[bool, typer.Option("--payload", help="Also show the message: it may hold a caller's text.")]
NewId = Annotated[
    bool, typer.Option("--new-id", help="Ask the letter's query as a new one, with a new id, budget and answer.")
]


@deadletter_app.command("list")
@plainly
def list_dead_letters(
    tenant: OfTenant = None,
    stage: OfStage = None,
    last: Last = 50,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """List dead letters, oldest first."""
    from fanfuse_all_in_one.dead_letters import list_letters

    found = _on_bus(data, nats_url, lambda bus: list_letters(bus, tenant=tenant, stage=stage, last=last))
    if as_json:
        print(json.dumps([_as_json(one, payload=False) for one in found.letters], ensure_ascii=False))
    else:
        results().print(_table(found) if found.letters else "no dead letter")
        if found.matching > len(found.letters) + len(found.unreadable):
            remark(f"the last {last} of {found.matching}: see --last")
    for each in found.unreadable:
        remark(f"dead letter {each} is of another version of fanfuse")


@deadletter_app.command("show")
@plainly
def show(
    letter: Annotated[int, typer.Argument(metavar="ID", min=1, help="Id as `deadletter list` shows it.")],
    payload: WithPayload = False,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Show one dead letter: why it was given up, and its headers."""
    from fanfuse_all_in_one.dead_letters import read_letter

    shown = _as_json(_on_bus(data, nats_url, lambda bus: read_letter(bus, letter)), payload=payload)
    if as_json:
        print(json.dumps(shown, ensure_ascii=False))
        return
    console = results()
    for name, value in shown.items():
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
        console.print(escape(f"{name:<14} {text}"), soft_wrap=True)


@deadletter_app.command("retry")
@plainly
def retry(letter: Ids, new_id: NewId = False, data: DataDir = DEFAULT_DATA, nats_url: NatsUrl = None) -> None:
    """Send messages again to the subjects they were sent to, under a new message id, and drop their letters.

    A query that is answered stays as it is answered: what belongs to it is not sent again. --new-id asks it anew.
    """
    from fanfuse_all_in_one.dead_letters import retry_letter
    from fanfuse_client.queries import checked_query_id

    async def one(bus: "Bus", each: int) -> str:
        sent = await retry_letter(bus, each, checked_query_id(None) if new_id else None)
        for note in sent.notes:
            remark(f"{each}: {note}")
        return f"{each}: sent to {sent.subject} as {sent.message_id} (query {sent.query_id})"

    _each(letter, one, data, nats_url)


@deadletter_app.command("drop")
@plainly
def drop(letter: Ids, data: DataDir = DEFAULT_DATA, nats_url: NatsUrl = None) -> None:
    """Delete dead letters for good."""
    from fanfuse_all_in_one.dead_letters import drop_letter

    async def one(bus: "Bus", each: int) -> str:
        await drop_letter(bus, each)
        return f"{each}: dropped"

    _each(letter, one, data, nats_url)


def _each(ids: list[int], work: "Callable[[Bus, int], Awaitable[str]]", data: Path, nats_url: str | None) -> None:
    """Do it for every id, whatever becomes of the others; exit code 1 if one was left."""
    from fanfuse_runtime.logs import configure_logs

    configure_logs("info")

    async def run(bus: "Bus") -> bool:
        all_done = True
        for each in dict.fromkeys(ids):
            try:
                print(await work(bus, each), flush=True)
            except OperatorError as error:
                remark(f"fanfuse: {each}: {error}")
                all_done = False
        return all_done

    if not _on_bus(data, nats_url, run):
        raise typer.Exit(FAILED)


def _on_bus(data: Path, nats_url: str | None, work: "Callable[[Bus], Awaitable[T]]") -> T:
    from fanfuse_all_in_one.operating import operator_on

    async def run(url: str) -> T:
        async with operator_on(url, data_dir=data) as operator:
            return await work(operator.bus)

    return run_until_signal(run(running_bus(data, nats_url)))


def _table(found: "Found") -> Table:
    table = Table("id", "at", "stage", "tenant", "reason", "deliveries", box=None, pad_edge=False)
    table.add_column("subject", overflow="fold")
    table.add_column("detail", overflow="fold")
    for one in found.letters:
        it = one.content
        at = it.at[:_TO_THE_SECOND]
        row = (str(one.id), at, it.stage.value, it.tenant, it.reason, str(it.deliveries), it.subject, it.detail)
        table.add_row(*map(escape, row))
    return table


def _as_json(letter: "Letter", *, payload: bool) -> dict[str, object]:
    from fanfuse_all_in_one.retrying import payload as message_of

    fields = letter.content.model_dump(mode="json", exclude={"payload_base64", "schema_version"})
    message = message_of(letter.content)
    shown = {"payload": message.decode("utf-8", "replace")} if payload else {}
    return {"id": letter.id, **fields, "payload_bytes": len(message), **shown}
