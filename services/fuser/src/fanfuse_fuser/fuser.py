"""Every plan this process holds: one run per query, its answer published once and told, silent lanes reported.

A plan delivered twice to this process waits for the first run, so that the first plan wins and no acknowledgement
comes before the answer is stored.
"""

import asyncio
import time
from collections.abc import Callable

from fanfuse_contracts import metrics
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.plan import QueryPlanned
from fanfuse_fuser.counting import count_answer
from fanfuse_fuser.domain.page import fit
from fanfuse_fuser.joining import PlanRun, World
from fanfuse_fuser.ports import Answers, Cancellations, Outcomes, Quality, Routes
from fanfuse_runtime.cancelled import Cancelled, QueryKey
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.metrics import Metrics

_log = get_logger("fuser")


class Fuser:
    """Answers plans. Holds no state but the plans in flight and the last cancellations."""

    def __init__(
        self,
        world: World,
        answers: Answers,
        outcomes: Outcomes,
        cancellations: Cancellations,
        routes: Routes,
        quality: Quality,
        metrics_: Metrics,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._world = world
        self._answers = answers
        self._outcomes = outcomes
        self._cancellations = cancellations
        self._routes = routes
        self._quality = quality
        self._metrics = metrics_
        self._steady_s = steady_s
        self._cancelled = Cancelled()
        self._runs: dict[QueryKey, tuple[PlanRun, asyncio.Future[None]]] = {}

    async def answer(self, planned: QueryPlanned) -> None:
        """Answer one plan, exactly once; returns when its answer is stored. Raises what the bus raises."""
        key = (planned.tenant, planned.query_id)
        while key in self._runs:
            _log.warning("fuser.plan_again")
            if await _ended_well(self._runs[key][1]):
                return
        run, ended = PlanRun(planned, self._world), asyncio.get_running_loop().create_future()
        self._runs[key] = (run, ended)
        try:
            if key in self._cancelled:
                run.cancel()
            await self._answer(planned, run)
            ended.set_result(None)
        finally:
            del self._runs[key]
            ended.cancel()

    def cancel(self, tenant: str, query_id: str) -> None:
        """The caller of this query no longer waits."""
        key = (tenant, query_id)
        self._cancelled.remember(key, self._steady_s())
        if key in self._runs:
            self._runs[key][0].cancel()

    async def _answer(self, planned: QueryPlanned, run: PlanRun) -> None:
        outcome = await run.run()
        answer, body = fit(outcome.answer, self._answers.max_bytes)
        if await self._answers.publish(answer, body):
            count_answer(self._metrics, answer)
            self._quality.count(answer)
            self._routes.tell(planned, answer)
        else:
            self._metrics.inc(metrics.DUPLICATES_TOTAL, stage=Stage.FUSER.value)
        # Only now: whoever takes this plan over before needs the replies.
        if outcome.unwanted:
            await self._cancellations.publish(planned.tenant, planned.query_id)
        if outcome.silent:
            await self._outcomes.report(planned, outcome.silent)


async def _ended_well(ended: asyncio.Future[None]) -> bool:
    await asyncio.wait((ended,))
    return not ended.cancelled()
