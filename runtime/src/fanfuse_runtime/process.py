"""The entry point of a process: settings from the environment, services composed.

SIGTERM and SIGINT stop it gracefully.
"""

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import NoReturn

from fanfuse_runtime.compose import Process
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.corpus_store import RegistryError
from fanfuse_runtime.errors import StartError
from fanfuse_runtime.logs import LogLevelError, configure_logs, get_logger
from fanfuse_runtime.masking import mask
from fanfuse_runtime.ops import OpsPortError
from fanfuse_runtime.service import ServiceFactory
from fanfuse_runtime.settings import RuntimeSettings, SettingsError
from fanfuse_runtime.setup import SetupError
from fanfuse_runtime.tasks import end_tasks

_log = get_logger("process")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def serve(factories: Sequence[ServiceFactory], settings: RuntimeSettings) -> None:
    """Run until a signal asks to stop."""
    process = Process(settings)
    starting = asyncio.ensure_future(process.start(factories))
    asked = stop_on_signals()
    try:
        # A start waits for its broker for as long as it takes, but never against a signal.
        await asyncio.wait((starting, asked), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            await asked
    finally:
        if asked.done():
            _log.info("process.stopping", signal=asked.result().name)
        asked.cancel()
        await end_tasks((starting,))
        await process.stop()


def stop_on_signals() -> "asyncio.Future[signal.Signals]":
    """Done with SIGTERM or SIGINT, whichever comes first."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[signal.Signals] = loop.create_future()

    def ask(number: int, _frame: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: the process is about to end
            loop.call_soon_threadsafe(note_first, stop, number)

    for number in _SIGNALS:
        # The loop's own handlers go with the loop, and a signal after that would end the process as a failure.
        signal.signal(number, ask)
    return stop


def note_first(stop: "asyncio.Future[signal.Signals]", number: int) -> None:
    """Take in a signal that asks to stop; a second one changes nothing."""
    if not stop.done():
        stop.set_result(signal.Signals(number))


def ignore_signals() -> None:
    """From here on the process ends by itself: the interpreter drops handlers long before it is gone."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def main(*factories: ServiceFactory) -> None:
    """Run these services as this process; exits with a plain message: 2 where the configuration is at fault, 1 where
    the bus did not give in time what a start needs, so that whoever watches over the process starts it again."""
    try:
        settings = RuntimeSettings()
        configure_logs(settings.log_level)
        sys.excepthook = _log_crash
        asyncio.run(serve(factories, settings))
        ignore_signals()
    except (ConfigError, LogLevelError, OpsPortError, RegistryError, SettingsError, SetupError) as error:
        _refuse(str(error), 2)
    except StartError as error:
        _refuse(str(error), 1)


def _log_crash(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """The last line of a process that dies of an error is a log line like any other, with its secrets masked."""
    _log.error("process.crashed", exc_info=error)


def _refuse(reason: str, code: int) -> NoReturn:
    sys.stderr.writelines(f"fanfuse: {line}\n" for line in mask(reason).splitlines())
    sys.exit(code)
