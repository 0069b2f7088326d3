"""What went wrong, as one plain line and an exit code; never a traceback for what a person can put right.

Exit codes: 0 done, 1 the answer failed or was refused, 2 usage or configuration. The errors are imported when one is
raised: naming them loads what raises them, which no command needs whole.
"""

import functools
import sys
from collections.abc import Callable
from typing import Final, NoReturn, ParamSpec, TypeVar

import typer

FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

P = ParamSpec("P")
R = TypeVar("R")


def stop(message: str, code: int) -> NoReturn:
    """End the command with one line on standard error."""
    line = " ".join(message.split())
    print(f"fanfuse: {line}", file=sys.stderr)
    raise typer.Exit(code)


def plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Turn the typed errors of a command into one line and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            stop("interrupted", INTERRUPTED)
        except Exception as error:
            _stop_for(error)
            raise

    return run


def _stop_for(error: Exception) -> None:
    """End the command if `error` is of a type that is told plainly."""
    from pydantic import ValidationError

    from fanfuse_client.queries import explain
    from fanfuse_runtime.configfile import ConfigError
    from fanfuse_runtime.settings import SettingsError

    if isinstance(error, _failed()):
        stop(str(error), FAILED)
    if isinstance(error, ValidationError):
        stop(f"{error.title}: {explain(error, whole='')}", USAGE)
    if isinstance(error, ConfigError | SettingsError):
        for line in str(error).splitlines()[:-1]:
            print(f"fanfuse: {line}", file=sys.stderr)
        stop(str(error).splitlines()[-1], USAGE)
    if isinstance(error, OSError) and error.filename is not None:
        stop(f"{error.filename}: {error.strerror}", USAGE)
    if isinstance(error, _usage()):
        stop(str(error) or type(error).__name__, USAGE)


def _failed() -> tuple[type[Exception], ...]:
    from fanfuse_all_in_one.failures import ConflictError, NotAppliedError
    from fanfuse_client import AnswerTimeout, Overloaded, Unavailable

    return AnswerTimeout, ConflictError, NotAppliedError, Overloaded, Unavailable


def _usage() -> tuple[type[Exception], ...]:
    from fanfuse_all_in_one.databus import BusUnavailableError
    from fanfuse_all_in_one.failures import OperatorError
    from fanfuse_client import ClientError
    from fanfuse_contracts.addresses import InvalidAddressError
    from fanfuse_contracts.tokens import InvalidTokenError
    from fanfuse_indexing import VectorsError
    from fanfuse_runtime.server import ServerStartError
    from fanfuse_runtime.setup import SetupError
    from fanfuse_training.labelled import LabelledError

    operating = (BusUnavailableError, OperatorError, ServerStartError, SetupError)
    return *operating, ClientError, InvalidAddressError, InvalidTokenError, LabelledError, OSError, VectorsError
