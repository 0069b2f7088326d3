"""What went wrong, as one plain line and an exit code; never a traceback for what a person can put right.

Exit codes: 0 done, 1 the answer failed or was refused, 2 usage or configuration.
"""

import functools
import sys
from collections.abc import Callable
from typing import Final, NoReturn, ParamSpec, TypeVar

import typer
from pydantic import ValidationError

from fanfuse_all_in_one.databus import BusUnavailableError
from fanfuse_all_in_one.failures import ConflictError, NotAppliedError, OperatorError
from fanfuse_client import AnswerTimeout, ClientError, Overloaded, Unavailable
from fanfuse_client.queries import explain
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_indexing import VectorsError
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.server import ServerStartError
from fanfuse_runtime.setup import SetupMismatchError
from fanfuse_training.labelled import LabelledError

FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

_FAILED = (AnswerTimeout, ConflictError, NotAppliedError, Overloaded, Unavailable)
_USAGE = (
    BusUnavailableError,
    ClientError,
    InvalidTokenError,
    LabelledError,
    OSError,
    OperatorError,
    ServerStartError,
    SetupMismatchError,
    VectorsError,
)

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
        except _FAILED as error:
            stop(str(error), FAILED)
        except ValidationError as error:
            stop(f"{error.title}: {explain(error)}", USAGE)
        except ConfigError as error:
            for line in str(error).splitlines()[:-1]:
                print(f"fanfuse: {line}", file=sys.stderr)
            stop(str(error).splitlines()[-1], USAGE)
        except _USAGE as error:
            stop(str(error) or type(error).__name__, USAGE)
        except KeyboardInterrupt:
            stop("interrupted", INTERRUPTED)

    return run
