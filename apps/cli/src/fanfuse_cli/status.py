"""`fanfuse status`: one screen of a deployment, once or again and again."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fanfuse_cli.console import results
from fanfuse_cli.corpora import corpus_table
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.health import Bus, as_dict, backend_table, duration
from fanfuse_cli.lane_quality import quality_as_dict, quality_table
from fanfuse_cli.options import DEFAULT_DATA, AsJson, ConfigFile, DataDir, NatsUrl

if TYPE_CHECKING:
    from fanfuse_all_in_one.operating import Operator
    from fanfuse_all_in_one.overview import Overview

Show = Callable[["Overview"], None]

Watch = Annotated[bool, typer.Option("--watch", help="Look again every second, until Ctrl-C.")]
Every = Annotated[float, typer.Option("--every", min=0.2, max=3600.0, help="Seconds between two looks of --watch.")]


@plainly
def status(
    watch: Watch = False,
    every: Every = 1.0,
    as_json: AsJson = False,
    file: ConfigFile = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Show services and replicas, streams with their lag, backends with state and reason, and the fallback rate."""
    bus = Bus(file, data, nats_url)
    whole = True

    def told(show: Show) -> Show:
        def tell(seen: "Overview") -> None:
            nonlocal whole
            show(seen)
            whole = not seen.faults

        return tell

    if watch and not as_json and not results().is_terminal:
        raise typer.BadParameter(
            "a screen needs a terminal: add --json to have one line per look", param_hint="--watch"
        )
    if as_json:
        bus.run(_looking(told(_print_json), watch, every))
    elif watch:
        with Live(console=results(), screen=True, auto_refresh=False) as live:
            bus.run(_looking(lambda seen: live.update(screen(seen), refresh=True), True, every))
    else:
        console = results()
        bus.run(_looking(told(lambda seen: console.print(screen(seen), crop=False)), False, every))
    if not whole:
        raise typer.Exit(FAILED)


def _looking(show: Show, again: bool, every_s: float) -> "Callable[[Operator], Awaitable[None]]":
    async def run(operator: "Operator") -> None:
        from nats.errors import Error as NatsError

        from fanfuse_all_in_one.failures import OperatorError
        from fanfuse_all_in_one.overview import look
        from fanfuse_all_in_one.quality import QualityReader

        quality = QualityReader(operator.bus)
        show(await look(operator, quality))
        while again:
            await asyncio.sleep(every_s)
            # What was seen last stays on the screen while the bus is away; its client connects again by itself.
            with suppress(NatsError, OperatorError):
                show(await look(operator, quality))

    return run


def _print_json(seen: "Overview") -> None:
    print(json.dumps(as_json_of(seen), ensure_ascii=False), flush=True)


def as_json_of(seen: "Overview") -> dict[str, Any]:
    """One look, for --json."""
    return {
        "answers": seen.answers.model_dump(mode="json") | {"fallback_rate": seen.fallback_rate},
        "services": [asdict(row) for row in seen.services],
        "instances": [beat.model_dump(mode="json", exclude={"endpoints", "recent"}) for beat in seen.instances],
        "streams": [asdict(load) for load in seen.streams],
        "backends": [as_dict(each) for each in seen.backends],
        "quality": [quality_as_dict(each) for each in seen.quality],
        "faults": list(seen.faults),
        "corpora": [card.model_dump(mode="json", exclude={"term_weights"}) for card in seen.cards],
    }


def screen(seen: "Overview") -> RenderableType:
    """One look, for a person."""
    return Group(
        _answers(seen),
        _services(seen),
        _streams(seen),
        backend_table(seen.backends),
        quality_table(seen.quality),
        corpus_table(list(seen.cards)),
        *(Text(f"fault: {fault}", style="bold red", no_wrap=True, overflow="ignore") for fault in seen.faults),
    )


def _answers(seen: "Overview") -> str:
    recent, rate = seen.answers, seen.fallback_rate
    if rate is None:
        return f"no answer in the last {duration(recent.window_s)}"
    reasons = ", ".join(f"{reason.value} {count}" for reason, count in sorted(recent.fallbacks.items()))
    told = f"{recent.answers} answers in the last {duration(recent.window_s)}: bm25_fallback {rate:.1%}"
    return f"{told} ({reasons})" if reasons else told


def _table(title: str, *head: str) -> Table:
    return Table(*head, box=None, pad_edge=False, title=title, title_justify="left")


def _services(seen: "Overview") -> RenderableType:
    if not seen.instances:
        return "no service is alive: start them with `fanfuse up`; in a cluster `kubectl -n fanfuse get pods` says why"
    table = _table("services", "service", "ready", "versions", "in flight", "registry", "pools")
    for row in seen.services:
        counts = (str(row.in_flight), str(row.registry_revision), ", ".join(row.pools))
        table.add_row(row.service.value, f"{row.ready} of {row.replicas}", ", ".join(row.versions), *counts)
    for stage in seen.missing:
        table.add_row(stage.value, "none alive", "", "", "", "")
    return table


def _streams(seen: "Overview") -> Table:
    table = _table("streams", "stream", "messages", "bytes", "consumer", "waiting", "in flight", "redelivered")
    for load in seen.streams:
        table.add_row(escape(load.stream), str(load.messages), str(load.size_bytes), "", "", "", "")
        for lag in load.consumers:
            row = (lag.durable, str(lag.waiting), str(lag.in_flight), str(lag.redelivered))
            table.add_row("", "", "", *row)
    return table
