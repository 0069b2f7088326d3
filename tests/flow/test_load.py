"""1,000 queries, 32 at a time, through one process: counts only, for time is measured by the benchmarks."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from fanfuse_client.queries import Named
from fanfuse_contracts import streams
from fanfuse_contracts.enums import Stage, Status
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

TENANT = "acme"
QUERIES, CONCURRENT = 1_000, 32


def queries() -> Iterator[Named]:
    for number in range(QUERIES):
        yield f"load-{number}", SubmittedQuery(text=QUESTION, graph_seeds=SEEDS, top_k=3, budget_ms=30_000)


async def test_every_query_has_exactly_one_answer(flow: Flow, say: Callable[[str], None]) -> None:
    await flow.index(TENANT, "docs", library(), FIELDS)
    started, cpu = time.monotonic(), time.process_time()
    async with flow.ledger(TENANT) as ledger, flow.client(TENANT) as client:
        answers = [(key, answer) async for key, answer in client.stream(queries(), CONCURRENT)]
        taken_s, spent_s = time.monotonic() - started, time.process_time() - cpu
        await eventually(lambda: len(ledger.heard) == QUERIES)

    assert Counter(key for key, _ in answers) == {f"load-{number}": 1 for number in range(QUERIES)}
    assert all(key == answer.query_id for key, answer in answers)
    assert set(ledger.heard.values()) == {1}
    assert await flow.stored_answers(TENANT) == QUERIES

    assert Counter(answer.status for _, answer in answers).keys() <= {Status.COMPLETE, Status.PARTIAL}
    assert flow.metric("fanfuse_deadletters_total", stage="classifier") == 0
    for stream in (streams.QUERIES, streams.RETRIEVE):
        assert (await flow.operator.bus.js.stream_info(stream.name)).state.messages == 0
    # A stalled machine may have a message delivered twice: it must show in no count above.
    again = sum(flow.metric("fanfuse_redelivered_total", stage=stage.value) for stage in Stage)
    complete = sum(answer.status is Status.COMPLETE for _, answer in answers)
    say(
        f"{QUERIES} queries at {CONCURRENT}: {len(answers)} answers, {complete} complete, 0 duplicates, 0 losses, "
        f"{again:.0f} redeliveries; "
        f"{taken_s:.1f} s, {spent_s / QUERIES * 1e3:.1f} ms of CPU each, caller included"
    )
