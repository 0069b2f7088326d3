"""Which fault happens when, from a seed: the same seed plans the same run. Pure."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_FIRST_AFTER: Final = 0.5
"""Share of an interval before its first fault."""


class FaultKind(StrEnum):
    """What is done to a process, or to the broker."""

    KILL = "kill"
    """kill -9, and started again after `for_s`."""
    FREEZE = "freeze"
    """SIGSTOP, and SIGCONT after `for_s`."""
    ROLL = "roll"
    """A successor is started; when it is ready the process gets SIGTERM, and `for_s` to end by itself."""
    BROKER = "broker"
    """kill -9 of the broker, and started again on the same storage after `for_s`."""
    DISK = "disk"
    """The broker's disk is full for `for_s`; then there is room again and the broker is started anew, for a write that
    failed keeps its stream from storing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, `at_s` seconds after the load began. `victim` is empty for the broker."""

    at_s: float
    kind: FaultKind
    victim: str
    for_s: float


@dataclass(frozen=True, slots=True)
class Chaos:
    """How often each fault happens, in seconds between two; 0: never."""

    kill_every_s: float = 0.0
    down_s: float = 1.0
    freeze_every_s: float = 0.0
    frozen_s: float = 2.5
    broker_every_s: float = 0.0
    broker_down_s: float = 5.0
    roll_every_s: float = 0.0
    grace_s: float = 30.0
    """As the manifests state it for every pod."""


def plan_faults(chaos: Chaos, seed: int, victims: Sequence[str], duration_s: float) -> tuple[Fault, ...]:
    """Every fault of a run of so many seconds, by time. Each victim of a kind is hit once before one is hit twice."""
    rows: list[Fault] = []
    for kind, every_s, for_s in (
        (FaultKind.KILL, chaos.kill_every_s, chaos.down_s),
        (FaultKind.FREEZE, chaos.freeze_every_s, chaos.frozen_s),
        (FaultKind.BROKER, chaos.broker_every_s, chaos.broker_down_s),
        (FaultKind.ROLL, chaos.roll_every_s, chaos.grace_s),
    ):
        rows += _of_kind(kind, every_s, for_s, random.Random(f"{seed}-{kind.value}"), victims, duration_s)
    return tuple(sorted(rows, key=lambda fault: fault.at_s))


def _of_kind(
    kind: FaultKind, every_s: float, for_s: float, draw: random.Random, victims: Sequence[str], duration_s: float
) -> list[Fault]:
    rows: list[Fault] = []
    turn: list[str] = []
    number = 0
    while every_s > 0 and (at_s := (number + _FIRST_AFTER) * every_s) < duration_s:
        if not turn:
            turn = draw.sample(list(victims), len(victims))
        victim = "" if kind is FaultKind.BROKER else turn.pop()
        rows.append(Fault(at_s, kind, victim, for_s))
        number += 1
    return rows
