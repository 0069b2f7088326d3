"""One query after the other, of several subjects in turn. In: who is asked what. Out: medians of the rounds."""

import argparse
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from fanfuse_bench import runs
from fanfuse_bench.corpora import Questions
from fanfuse_contracts.limits import MAX_BUDGET_MS

_WARM: Final = 5
_ANSWERED: Final = {"complete", "partial"}


class Ask(NamedTuple):
    """What goes into every query to a subject."""

    subject: runs.Subject
    questions: Questions
    fields: Mapping[str, Any]


class Cost(NamedTuple):
    """Medians: p50 at the caller and CPU of the process under test per query, in milliseconds; lanes of a query."""

    p50_ms: float
    cpu_ms: float
    lanes: float


async def in_turn(options: argparse.Namespace, asked: Sequence[Ask]) -> list[Cost]:
    """A round of every ask after the other, `options.rounds` times. The budget is the longest: nothing is left out."""
    found: list[list[runs.Run]] = [[] for _ in asked]
    for _ in range(options.rounds):
        for number, one in enumerate(asked):
            fields = {"include_text": False, "budget_ms": MAX_BUDGET_MS, **one.fields}
            load = runs.Load(options.queries, _WARM, {"at_once": 1}, fields)
            found[number].append(await one.subject.run(one.questions, load))
    return [_cost(same) for same in found]


def _cost(same: Sequence[runs.Run]) -> Cost:
    for one in same:
        assert set(one.statuses) <= _ANSWERED, (one.name, one.statuses)
        assert not one.lost, (one.name, one.lost)
    figures = zip(*((one.caller_ms.p50, one.cpu_ms, one.lanes) for one in same), strict=True)
    return Cost(*map(median, figures))
