"""What health is told about a backend.

In: lanes that ended, with the moment in seconds of any steady clock. Out: rows to publish. Every failure that is the
backend's fault is told; successes are told in lots, and those not told yet go out before a failure, so that the share
of failures health sees is the true one. Request faults, expired budgets and a worker's own refusals are told to nobody.
"""

from dataclasses import dataclass
from typing import NamedTuple

from fanfuse_contracts import limits
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.health import PROBE_LANE, PROBE_PREFIX
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import Failure

Backend = tuple[Kind, str]


class Row(NamedTuple):
    """`weight` calls that all went well, or one that failed."""

    weight: int
    failure: Failure | None = None
    age_s: float = 0.0
    """Since the last of the calls that went well ended, or the failed one began."""


@dataclass(slots=True)
class _Untold:
    successes: int = 0
    since_s: float = 0.0
    last_s: float = 0.0


def is_probe(command: RetrieveCommand) -> bool:
    """True for a command of health; a lane's name is the router's, so no caller can make one."""
    return command.lane == PROBE_LANE and command.query_id.startswith(PROBE_PREFIX)


def is_backend_fault(kind: FailureKind, given_ms: float, *, interrupted: bool = False) -> bool:
    """True if a failed call speaks against the backend. `given_ms`: the time it was given; `interrupted`: the bus was
    away shortly before or since its query was stored, so that it is one of many that are carried out at once."""
    if kind is FailureKind.TIMEOUT and (interrupted or given_ms < limits.FAIR_CALL_MS):
        return False
    return kind.counts_against_backend


class OutcomeSampler:
    """Counts the calls of every backend. One entry per backend; a health window's age bounds what it remembers."""

    def __init__(self, sample_every: int = limits.SUCCESS_SAMPLE_EVERY) -> None:
        self._sample_every = sample_every
        self._untold: dict[Backend, _Untold] = {}

    def observe(self, backend: Backend, failure: Failure | None, now_s: float, asked_s: float = 0.0) -> tuple[Row, ...]:
        """Take in one call that the backend answered (None) or failed by its own fault; the rows to tell now.

        `asked_s`: how long a failed call took.
        """
        untold = self._untold.setdefault(backend, _Untold())
        if now_s - untold.since_s > limits.HEALTH_WINDOW_S:
            untold.successes = 0
        if failure is not None:
            return (*self._tell(untold, now_s, at_least=1), Row(1, failure, asked_s))
        if untold.successes == 0:
            untold.since_s = now_s
        untold.successes += 1
        untold.last_s = now_s
        return self._tell(untold, now_s, at_least=self._sample_every)

    def _tell(self, untold: _Untold, now_s: float, at_least: int) -> tuple[Row, ...]:
        if untold.successes < at_least:
            return ()
        row = Row(untold.successes, age_s=now_s - untold.last_s)
        untold.successes = 0
        return (row,)
