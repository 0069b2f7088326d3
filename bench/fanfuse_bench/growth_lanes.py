"""1 to 32 lanes: what each lane more costs the flow, and plain nats-py.

In: how many queries per number of lanes, and how long a simulated search takes. Out: a series. The floor carries
recorded bytes of as many lanes; both answer through the same client, on a bus of their own.
"""

import argparse
from typing import Final

from fanfuse_all_in_one.operating import Operator
from fanfuse_bench import runs
from fanfuse_bench.corpora import TENANT, Questions, simulated_questions
from fanfuse_bench.growth_asking import Ask, in_turn
from fanfuse_bench.growth_series import Series
from fanfuse_bench.recording import record
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing.simulated import CARD, KEYWORD_CARD

_THREE: Final = tuple(f"three-{number}" for number in range(10))
"""Corpora with a lane of each kind, so that no pool of workers is asked for more than it handles at a time."""
_ONE: Final = ("one-0", "one-1")
"""Corpora with a keyword lane."""
LANES: Final = {1: (0, 1), 4: (1, 1), 8: (2, 2), 16: (5, 1), 32: (10, 2)}
"""Lanes to the number of corpora of both sorts."""


async def measure(options: argparse.Namespace) -> Series:
    """A row per number of lanes."""
    async with runs.place() as high:
        questions = await _register(high.operator)
        async with runs.services("flow", high, str(options.delay_ms)) as flow:
            rows = [await _row(options, lanes, questions, high, flow) for lanes in LANES]
    return Series(
        "lanes",
        "lane",
        ("flow p50 ms", "floor p50 ms", "flow CPU ms/query", "floor CPU ms/query"),
        tuple(rows),
        f"Simulated engines of {options.delay_ms:g} ms, one query after the other, without texts.",
        ((0, 1), (2, 3)),
        (2, 3),
    )


async def _register(operator: Operator) -> Questions:
    for corpora, card in ((_THREE, CARD), (_ONE, KEYWORD_CARD)):
        for corpus in corpora:
            await operator.put_card(card.model_copy(update={"corpus": corpus}), over=0)
    return await simulated_questions(operator)


async def _row(
    options: argparse.Namespace, lanes: int, questions: Questions, high: runs.Place, flow: runs.Subject
) -> tuple[float, ...]:
    three, one = LANES[lanes]
    asked = {"corpora": [*_THREE[:three], *_ONE[:one]], "include_text": False}
    query = SubmittedQuery.model_validate(questions.queries(1, "recorded", **asked)["recorded-0"])
    recording = await record(high.server.url, TENANT, query, f"recorded-{lanes}")
    assert len(recording.lanes) == lanes, (lanes, recording.sizes())
    async with runs.place() as low:
        recording.write(low.folder / "recording.json")
        async with runs.floor(low, low.folder / "recording.json", str(options.delay_ms)) as floor:
            runs.say(f"{lanes} lanes: {options.rounds} times {options.queries} queries each")
            high_cost, low_cost = await in_turn(options, [Ask(flow, questions, asked), Ask(floor, questions, asked)])
    return lanes, high_cost.p50_ms, low_cost.p50_ms, high_cost.cpu_ms, low_cost.cpu_ms
