"""One query after the other over 1 to 32 lanes: what each lane more costs the flow, and plain nats-py.

In: how many queries per number of lanes, and how long a simulated search takes. Out: latency at the caller and CPU of
the process under test, and their slopes per lane. Both answer through the same client, on a bus of their own.
"""

import argparse
from collections.abc import Sequence
from contextlib import AsyncExitStack
from statistics import linear_regression, median
from typing import Final, NamedTuple

from fanfuse_all_in_one.operating import Operator
from fanfuse_bench import runs
from fanfuse_bench.corpora import TENANT, Questions, simulated_questions
from fanfuse_bench.figures import table
from fanfuse_bench.recording import record
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing.simulated import CARD

_THREE: Final = tuple(f"three-{number}" for number in range(10))
"""Corpora with a lane of each kind, so that no pool of workers is asked for more than it handles at a time."""
_ONE: Final = ("one-0", "one-1")
"""Corpora with a keyword lane."""
LANES: Final = {1: (0, 1), 4: (1, 1), 8: (2, 2), 16: (5, 1), 32: (10, 2)}
"""Lanes to the number of corpora of both sorts."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this part."""
    parser.add_argument("--queries", type=int, default=60, help="per number of lanes and round (60)")
    parser.add_argument("--rounds", type=int, default=3, help="how often flow and floor take turns (3)")
    parser.add_argument("--delay-ms", type=float, default=20.0, help="time a simulated search takes (20)")


class Point(NamedTuple):
    """Medians of the rounds: p50 at the caller and CPU per query, in milliseconds, of the flow and of the floor."""

    lanes: int
    flow_ms: float
    floor_ms: float
    flow_cpu_ms: float
    floor_cpu_ms: float


async def measure(options: argparse.Namespace) -> str:
    """The report."""
    async with AsyncExitStack() as stack:
        high = await stack.enter_async_context(runs.place())
        questions = await _register(high.operator)
        flow = await stack.enter_async_context(runs.services("flow", high, str(options.delay_ms)))
        points = [await _point(options, lanes, questions, high, flow) for lanes in LANES]
    return report(points)


async def _register(operator: Operator) -> Questions:
    for corpus in _THREE:
        await operator.put_card(CARD.model_copy(update={"corpus": corpus}), over=0)
    keyword = tuple(wiring for wiring in CARD.backends if wiring.kind is Kind.KEYWORD)
    for corpus in _ONE:
        await operator.put_card(CARD.model_copy(update={"corpus": corpus, "backends": keyword}), over=0)
    return await simulated_questions(operator)


async def _point(
    options: argparse.Namespace, lanes: int, questions: Questions, high: runs.Place, flow: runs.Subject
) -> Point:
    three, one = LANES[lanes]
    asked = {"corpora": [*_THREE[:three], *_ONE[:one]], "include_text": False}
    query = SubmittedQuery.model_validate(questions.queries(1, "recorded", **asked)["recorded-0"])
    recording = await record(high.server.url, TENANT, query, f"recorded-{lanes}")
    assert len(recording.lanes) == lanes, (lanes, recording.sizes())
    async with runs.place() as low:
        recording.write(low.folder / "recording.json")
        async with runs.floor(low, low.folder / "recording.json", str(options.delay_ms)) as floor:
            load = runs.Load(options.queries, 5, {"at_once": 1}, asked)
            runs.say(f"{lanes} lanes: {options.rounds} times {options.queries} queries each")
            done = [(await flow.run(questions, load), await floor.run(questions, load)) for _ in range(options.rounds)]
    return Point(
        lanes,
        median(one.caller_ms.p50 for one, _ in done),
        median(one.caller_ms.p50 for _, one in done),
        median(one.cpu_ms for one, _ in done),
        median(one.cpu_ms for _, one in done),
    )


def slope(points: Sequence[Point], column: str) -> float:
    """Milliseconds per lane, by least squares."""
    return linear_regression([point.lanes for point in points], [getattr(point, column) for point in points]).slope


def report(points: Sequence[Point]) -> str:
    """A row per number of lanes, and the slopes."""
    header = ("lanes", "flow p50 ms", "floor p50 ms", "flow CPU ms/query", "floor CPU ms/query")
    slopes = {column: slope(points, column) for column in Point._fields[1:]}
    told = [
        ("per lane", *slopes.values()),
        (
            "flow over floor, per lane",
            f"{slopes['flow_ms'] / slopes['floor_ms']:.2f} ×",
            "",
            f"{slopes['flow_cpu_ms'] / slopes['floor_cpu_ms']:.2f} ×",
            "",
        ),
    ]
    return table(header, [*points, *told])
