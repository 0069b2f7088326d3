"""`fanfuse status`: who is alive, what waits, what is unhealthy, what is indexed."""

import asyncio
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from fanfuse_cli.console import results
from fanfuse_cli.corpora import corpus_table
from fanfuse_cli.failures import plainly
from fanfuse_cli.options import DEFAULT_DATA, ConfigFile, DataDir, NatsUrl, running_bus, stated_config
from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.health import BackendState, Heartbeat

if TYPE_CHECKING:
    from fanfuse_all_in_one.operating import StreamLoad


@plainly
def status(file: ConfigFile = None, data: DataDir = DEFAULT_DATA, nats_url: NatsUrl = None) -> None:
    """Show live instances, pools, streams with their lag, backend health and corpora."""
    from fanfuse_all_in_one.operating import operator_on

    config = stated_config(file)

    async def run(url: str) -> list[RenderableType]:
        async with operator_on(url, config=config, data_dir=data) as operator:
            return [
                f"bus {without_login(url)}",
                _instances(await operator.alive()),
                _streams(await operator.stream_loads()),
                _backends(await operator.backend_states()),
                corpus_table(await operator.cards()),
            ]

    console = results()
    for part in asyncio.run(run(running_bus(data, nats_url))):
        console.print(part)


def _table(title: str, *head: str) -> Table:
    return Table(*head, box=None, pad_edge=False, title=title, title_justify="left")


def _instances(beats: tuple[Heartbeat, ...]) -> RenderableType:
    if not beats:
        return "no service is alive: start them with `fanfuse up`"
    table = _table("instances", "service", "instance", "state", "in flight", "registry", "pools")
    for beat in beats:
        pools = ", ".join(f"{pool.kind.value}/{pool.pool}" for pool in beat.pools)
        state = "ready" if beat.ready else "not ready"
        row = (beat.service.value, beat.instance, state, str(beat.in_flight), str(beat.registry_revision), pools)
        table.add_row(*row)
    return table


def _streams(loads: "list[StreamLoad]") -> Table:
    table = _table("streams", "stream", "messages", "bytes", "consumer", "waiting", "in flight", "redelivered")
    for load in loads:
        table.add_row(load.stream, str(load.messages), str(load.size_bytes), "", "", "", "")
        for lag in load.consumers:
            row = (lag.durable, str(lag.waiting), str(lag.in_flight), str(lag.redelivered))
            table.add_row("", "", "", *row)
    return table


def _backends(states: list[BackendState]) -> RenderableType:
    if not states:
        return "every backend is healthy"
    table = _table("backends", "backend", "state", "since", "reason")
    for state in states:
        row = (f"{state.kind.value}/{state.backend}", state.state.value, state.since, escape(state.reason))
        table.add_row(*row)
    return table
