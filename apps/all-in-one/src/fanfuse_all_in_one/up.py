"""Runs any subset of the services in this process, on the bus of a data directory, until a signal stops it.

In: which services, where the data is, ports. It decides nothing: `compose` does the rest.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fanfuse_all_in_one.databus import DataBus, data_bus, find_bus
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.service_locks import running
from fanfuse_all_in_one.services import select_factories
from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.compose import compose
from fanfuse_runtime.corpus_store import RegistryError
from fanfuse_runtime.errors import StartError
from fanfuse_runtime.process import note_first
from fanfuse_runtime.server import ServerStartError
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_runtime.tasks import end_tasks

Say = Callable[[str], None]

_LOOK_AT_BUS_EVERY_S: Final = 0.5
_BUS_GONE_S: Final = 10.0
"""Whoever runs the bus of a data directory starts it again much sooner."""
_TELL_FAULT_EVERY_S: Final = 60.0
_MAX_REVIVALS: Final = 20
"""Per run: whoever kills the bus more often than this is not to be outlived."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What to run. `nats_url` None: the bus of the data directory. `ops_port` 0: a free one."""

    data_dir: Path
    nats_url: str | None = None
    only: Sequence[Stage] = ()
    port: int = 0
    ops_port: int = 0
    config: FanfuseConfig | None = None
    """None: the file that the environment names, if any."""


def run_up(options: UpOptions, say: Say) -> None:
    """Run until SIGTERM or SIGINT; `say` hears one line for each thing that listens. Call it from the main thread.

    Raises `OperatorError` where the registry of corpora can't be used, or another process runs such a service on this
    data directory.
    """
    with (
        _alone(options),
        data_bus(options.data_dir, options.nats_url, announce=True, port=options.port, say=say) as bus,
    ):
        try:
            asyncio.run(_serve(options, bus, say))
        except (RegistryError, ServerStartError, StartError) as error:
            raise OperatorError(str(error)) from error


def _alone(options: UpOptions) -> AbstractContextManager[None]:
    """Replicas of a service share a bus that somebody else runs, not one that lives with one of them."""
    if options.nats_url is not None:
        return nullcontext()
    return running(options.data_dir, options.only or tuple(Stage))


async def _serve(options: UpOptions, bus: DataBus, say: Say) -> None:
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[signal.Signals] = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, note_first, stop, number)
    settings = runtime_settings(options, bus.url)
    async with compose(*select_factories(options.only), settings=settings, config=options.config) as process:
        stages = ", ".join(service.stage.value for service in process.services)
        say(f"bus       {without_login(bus.url)}{'' if bus.server else ' (run by somebody else)'}")
        if process.ops is not None:
            say(f"operators http://{settings.ops_host}:{process.ops.port}/readyz /healthz /metrics")
        say(f"ready     {stages}")
        joined = options.data_dir if bus.server is None and options.nats_url is None else None
        faults = asyncio.ensure_future(_tell_store_faults(bus, say))
        try:
            await _until_stopped(stop, bus, joined, say)
        finally:
            await end_tasks((faults,))
        say(f"stopping  {stop.result().name}")


async def _until_stopped(stop: "asyncio.Future[signal.Signals]", bus: DataBus, joined: Path | None, say: Say) -> None:
    """Wait for a signal; a bus of our own that dies meanwhile is started again, and the services reconnect to it.

    `joined`: the data directory whose bus another command runs. Raises `OperatorError` where our own keeps dying, or
    where whoever runs the other one has ended.
    """
    revivals, last_seen = 0, time.monotonic()
    while not stop.done():
        await asyncio.wait((stop,), timeout=_LOOK_AT_BUS_EVERY_S)
        if joined is None or find_bus(joined) is not None:
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > _BUS_GONE_S:
            raise OperatorError(f"the bus of {joined} is gone: whoever started it has ended")
        if stop.done() or not bus.revive():
            continue
        revivals += 1
        if revivals > _MAX_REVIVALS:
            raise OperatorError(f"the nats-server died {revivals} times: see nats-server.log in the data directory")
        say(f"bus       {without_login(bus.url)} had died and was started again")


async def _tell_store_faults(bus: DataBus, say: Say) -> None:
    """A line a minute, at most, for as long as a bus of our own stores nothing: nobody else can see why."""
    while bus.server is not None:
        fault = bus.server.store_fault()
        if fault is not None:
            say(f"bus       {fault}. Is the disk full? Make room, then end this command and start it again")
        await asyncio.sleep(_LOOK_AT_BUS_EVERY_S if fault is None else _TELL_FAULT_EVERY_S)


def runtime_settings(options: UpOptions, nats_url: str) -> RuntimeSettings:
    """Settings of the process: what was stated, over the environment, over the defaults."""
    return RuntimeSettings(nats_url=nats_url, data_dir=options.data_dir, ops_port=options.ops_port)
