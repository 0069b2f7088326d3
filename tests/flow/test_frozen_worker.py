"""A worker that is frozen (SIGSTOP) keeps its place in every queue: texts come from the other one, soon."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage, Status
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing.faults.fleet import Size, fleet
from fanfuse_testing.simulated import CORPUS, TENANT

pytestmark = pytest.mark.slow
QUERIES = 30


def query(number: int) -> SubmittedQuery:
    return SubmittedQuery(text=f"What did Alice Smith say in report {number}?", corpora=(CORPUS,), budget_ms=20_000)


def after_the_last_lane_ms(answer: Answer) -> float:
    """What came after the last reply: fusing and the texts."""
    waited = [one.waited_ms for one in answer.coverage.lanes if one.waited_ms is not None]
    return answer.hops[-1].took_ms - max(waited)


async def test_texts_do_not_wait_for_a_frozen_worker(tmp_path: Path) -> None:
    """Lanes whose command it took are delivered again after a second; texts are asked of another worker at once."""
    one_each = dict.fromkeys((Stage.CLASSIFIER, Stage.CORPUS_ROUTER, Stage.FUSER, Stage.HEALTH), 1)
    async with fleet(tmp_path) as running:
        await running.launch(Size(of_stage=one_each))
        await running.register_simulated()
        async with running.processes.client(TENANT) as client:
            for number in range(10):
                await client.ask(query(number))
            frozen = running.pids[f"{Stage.BACKEND_WORKERS.value}-2"]
            os.kill(frozen, signal.SIGSTOP)
            try:
                asked = [asyncio.create_task(client.ask(query(100 + number))) for number in range(QUERIES)]
                answers = await asyncio.gather(*asked)
            finally:
                os.kill(frozen, signal.SIGCONT)
    assert {answer.status for answer in answers} <= {Status.COMPLETE, Status.PARTIAL}
    assert [answer.missing_texts for answer in answers] == [()] * QUERIES
    assert all(len(answer.hits) == 10 for answer in answers)
    took_ms = sorted(map(after_the_last_lane_ms, answers))
    assert took_ms[QUERIES // 2] < 1_000.0
    assert took_ms[-1] < 10_000.0
