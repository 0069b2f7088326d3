"""The rolling window of one backend: weighted outcomes by age.

In: outcomes and monotonic seconds of this process. Out: a new window. Bounded by slots, never by the number of calls;
knows neither clock nor wall time.
"""

import math
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from fanfuse_contracts.health import BackendOutcome

SLOT_S: Final = 0.25
"""Outcomes this close share one tally, so a 60 s window has at most 241."""


class Tally(NamedTuple):
    """Weighted outcomes of one slot of time."""

    slot: int
    failures: int
    successes: int
    refuted: int = 0
    """Failures of calls that began before another one succeeded: late, but not of an engine that answers nobody."""


@dataclass(frozen=True, slots=True)
class Window:
    """What was seen of a backend since its last transition, oldest first."""

    since_s: float = -math.inf
    """What happened up to here belongs to an earlier state and is not counted."""
    tallies: tuple[Tally, ...] = ()


class Totals(NamedTuple):
    """Weighted sums over a window."""

    failures: int
    outcomes: int


def slot_of(at_s: float) -> int:
    """The slot a moment falls into."""
    return math.floor(at_s / SLOT_S)


def counts(outcome: BackendOutcome) -> bool:
    """False for what says nothing of the backend: a request's own fault, and the probe (judged by its prober)."""
    if outcome.probe:
        return False
    return outcome.ok or (outcome.failure is not None and outcome.failure.counts_against_backend)


def observe(window: Window, outcome: BackendOutcome, at_s: float, now_s: float, window_s: float) -> Window:
    """The window with one more outcome, seen at `at_s`, and without what is older than `window_s` at `now_s`."""
    began_s = at_s - outcome.age_ms / 1e3
    # News of successes is held back: they count when they were.
    ended_s = began_s if outcome.ok else at_s
    slot, oldest = slot_of(min(ended_s, now_s)), slot_of(now_s - window_s)
    kept = tuple(tally for tally in window.tallies if tally.slot > oldest)
    if slot <= oldest or ended_s <= window.since_s or not counts(outcome):
        return replace(window, tallies=kept)
    if outcome.ok:
        return replace(window, tallies=_added(kept, Tally(slot, 0, outcome.weight)))
    refuted = outcome.weight if slot_of(began_s) < _last_success(kept, slot) else 0
    return replace(window, tallies=_added(kept, Tally(slot, outcome.weight, 0, refuted)))


def _added(tallies: tuple[Tally, ...], new: Tally) -> tuple[Tally, ...]:
    place = len(tallies)
    while place and tallies[place - 1].slot >= new.slot:
        place -= 1
    if place == len(tallies) or tallies[place].slot != new.slot:
        return (*tallies[:place], new, *tallies[place:])
    old = tallies[place]
    sums = (old.failures + new.failures, old.successes + new.successes, old.refuted + new.refuted)
    return (*tallies[:place], Tally(new.slot, *sums), *tallies[place + 1 :])


def _last_success(tallies: tuple[Tally, ...], default: int) -> int:
    return next((tally.slot for tally in reversed(tallies) if tally.successes), default)


def restart(window: Window, since_s: float) -> Window:
    """The window of a new state: nothing seen up to its beginning counts."""
    # A slot that straddles the beginning goes too: at most a quarter of a second of news is lost.
    return Window(since_s, tuple(tally for tally in window.tallies if tally.slot > slot_of(since_s)))


def earlier(window: Window, at_s: float) -> Window:
    """Only what was seen before `at_s`, from where everything is about to be entered again."""
    # Ages are measured anew: one that comes out a little smaller must not count an outcome in two slots.
    return replace(window, tallies=tuple(tally for tally in window.tallies if tally.slot < slot_of(at_s) - 1))


def run(window: Window, now_s: float, window_s: float) -> int:
    """Weighted failures since the last success, of calls that began no earlier: order within a slot does not matter."""
    oldest = slot_of(now_s - window_s)
    since = max(oldest, _last_success(window.tallies, oldest))
    return sum(tally.failures - tally.refuted for tally in window.tallies if tally.slot > since)


def totals(window: Window, now_s: float, window_s: float) -> Totals:
    """Weighted failures and outcomes of the last `window_s` seconds."""
    oldest = slot_of(now_s - window_s)
    failures = sum(tally.failures for tally in window.tallies if tally.slot > oldest)
    successes = sum(tally.successes for tally in window.tallies if tally.slot > oldest)
    return Totals(failures, failures + successes)
