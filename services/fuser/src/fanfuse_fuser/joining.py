"""One plan from its arrival to its answer: listen, read what is stored, wait, fuse, fetch texts, assemble.

In: a plan and the ports. Out: the answer, and the lanes that kept silent. Publishes nothing, decides nothing the
domain can decide, and always leaves its subscription.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.fusion import FusionApplied, FusionConfig
from fanfuse_contracts.plan import QueryPlanned
from fanfuse_contracts.retrieval import ChunksReply, ChunkText, LaneReply
from fanfuse_contracts.tracing import LANE_BACKEND, LANE_KIND
from fanfuse_fuser.domain import budget
from fanfuse_fuser.domain.assembly import EMPTY_PAGE, Joined, assemble, has_a_page, lanes_to_report
from fanfuse_fuser.domain.coverage import ranked_lists
from fanfuse_fuser.domain.early import can_be_early, dispensable
from fanfuse_fuser.domain.fusion import DEFAULT, FusedList, fuse
from fanfuse_fuser.domain.join import NOT_WAITED, REFUSALS, Join, LaneResult, Verdict
from fanfuse_fuser.domain.page import NO_TEXTS, Page, Texts, page_of, wanted_texts
from fanfuse_fuser.domain.rows import Identity
from fanfuse_fuser.ports import Clock, Pools, RawReply, Replies, TextSource
from fanfuse_runtime.telemetry import current_span, link

REREAD_AFTER_S = 0.05
"""A follower of a cluster may serve the first read stale; 50 ms later none was."""
LOOK_AT_POOLS_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class World:
    """The ports a join works with, and how it fuses."""

    replies: Replies
    texts: TextSource
    pools: Pools
    clock: Clock
    fusion: FusionConfig = DEFAULT


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer, and the lanes whose backends are to be told on."""

    answer: Answer
    silent: tuple[LaneResult, ...]
    unwanted: bool = False
    """True if work for lanes that were not waited for may still be under way."""


class PlanRun:
    """The life of one plan in this process."""

    def __init__(self, planned: QueryPlanned, world: World) -> None:
        self._planned = planned
        self._world = world
        self._join = Join(planned)
        # The plan says how to fuse, so that every fuser gives the same answer.
        self._fusion = planned.plan.fusion or world.fusion
        self._early = can_be_early(planned, self._fusion)
        self._over = asyncio.Event()
        self._fetching: asyncio.Task[list[ChunksReply | None]] | None = None
        self._arrived_ms = self._elapsed_ms()
        # Replies are heard in another task than the plan's.
        self._span = current_span()
        # A refused reply is met again by each read; it counts once.
        self._refused: set[RawReply] = set()

    def cancel(self) -> None:
        """The caller no longer waits: answer at once."""
        self._join.cancel()
        self._over.set()
        if self._fetching is not None:
            self._fetching.cancel()

    async def run(self) -> Outcome:
        """Join, fuse and fetch, within the budget."""
        planned = self._planned
        async with self._world.replies.listening(planned.tenant, planned.query_id, self._hear):
            await self._collect()
            self._join.close()
            waited_ms = self._elapsed_ms() - self._arrived_ms
            page, total, applied = EMPTY_PAGE, 0, None
            if not self._join.cancelled() and has_a_page(planned, self._join.results()):
                lists, config = ranked_lists(self._join.results()), self._fusion
                fused = fuse(lists, config)
                page, total = await self._page(fused), len(fused)
                applied = FusionApplied.of(config) if lists else None
            return self._outcome(page, total, applied, waited_ms)

    def _outcome(self, page: Page, total: int, applied: FusionApplied | None, waited_ms: float) -> Outcome:
        # Results are read last, so that replies heard during the text fetch count as late.
        join = self._join
        if join.cancelled():
            page, applied = EMPTY_PAGE, None
        joined = Joined(join.results(), total, join.rejected, join.cancelled(), applied)
        answer = assemble(self._planned, joined, page, arrived_ms=self._arrived_ms, elapsed_ms=self._elapsed_ms())
        silent = () if join.cancelled() else self._silent(joined.results, waited_ms)
        return Outcome(answer, silent, any(result.loss in NOT_WAITED for result in joined.results))

    def _silent(self, results: Sequence[LaneResult], waited_ms: float) -> tuple[LaneResult, ...]:
        if all(result.loss is None for result in results):
            return ()
        planned = self._planned
        interrupted = self._world.clock.was_interrupted(planned.submitted_ns, planned.query.budget_ms)
        return lanes_to_report(results, waited_ms, self._living(self._elapsed_ms() / 1e3), interrupted=interrupted)

    # -- replies ------------------------------------------------------------------------------------------------

    async def _collect(self) -> None:
        self._finish_early()
        await self._read_stored()
        await self._wait(REREAD_AFTER_S)
        if self._join.done():
            return
        await self._read_stored()
        self._give_up_absent()
        while not self._join.done() and self._left_s() > 0:
            await self._wait(LOOK_AT_POOLS_EVERY_S)
            self._give_up_absent()

    def _living(self, waited_s: float) -> frozenset[tuple[Kind, str]]:
        pools = {(lane.kind, lane.pool) for lane in self._planned.plan.lanes}
        return frozenset(pool for pool in pools if self._world.pools.lives(*pool, waited_s))

    def _give_up_absent(self) -> None:
        pools = self._world.pools
        self._join.give_up(lane.name for lane in self._join.waiting() if pools.absent(lane.kind, lane.pool))
        self._finish_early()

    async def _read_stored(self) -> None:
        # With the budget over, a plan taken over from a dead fuser is still answered from what is stored.
        timeout_s = max(self._left_s(), REREAD_AFTER_S)
        for raw in await self._world.replies.stored(self._planned.tenant, self._planned.query_id, timeout_s):
            self._hear(raw)

    async def _wait(self, at_most_s: float) -> None:
        timeout_s = min(at_most_s, self._left_s())
        if timeout_s <= 0 or self._join.done():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._over.wait()

    def _hear(self, raw: RawReply) -> None:
        if self._join.knows(raw.lane):
            self._join.repeat()
        elif raw not in self._refused and self._offer(raw) in REFUSALS:
            self._refused.add(raw)
        self._finish_early()
        if self._join.done():
            self._over.set()

    def _finish_early(self) -> None:
        join = self._join
        if self._early and not join.done():
            join.release(dispensable(self._planned, join.results(), join.waiting(), self._fusion))

    def _offer(self, raw: RawReply) -> Verdict:
        try:
            reply = LaneReply.from_json(raw.data)
        except ValidationError:
            return self._join.refuse(raw.lane, Verdict.UNDECODABLE)
        if reply.lane != raw.lane:
            return self._join.refuse(raw.lane, Verdict.WRONG_SOURCE)
        verdict = self._join.offer(reply, max(0.0, self._elapsed_ms() - self._arrived_ms))
        if verdict is Verdict.ACCEPTED:
            link(self._span, raw.traceparent, {LANE_KIND: reply.kind.value, LANE_BACKEND: reply.backend})
        return verdict

    # -- texts --------------------------------------------------------------------------------------------------

    async def _page(self, fused: FusedList) -> Page:
        query = self._planned.query
        texts = await self._texts(fused) if query.include_text else None
        return page_of(fused, query.offset, query.top_k, texts)

    async def _texts(self, fused: FusedList) -> Texts:
        query = self._planned.query
        timeout_s = budget.left_to_fetch_ms(self._elapsed_ms(), query.budget_ms) / 1e3
        wanted = wanted_texts(fused, query.offset, query.top_k)
        if timeout_s <= 0 or not wanted:
            return NO_TEXTS
        self._fetching = asyncio.create_task(self._fetch(wanted, timeout_s))
        try:
            await asyncio.wait((self._fetching,))
        finally:
            self._fetching.cancel()
        if self._fetching.cancelled():
            return NO_TEXTS
        return _merge(zip(wanted, self._fetching.result(), strict=True))

    async def _fetch(self, wanted: Mapping[str, Sequence[str]], timeout_s: float) -> list[ChunksReply | None]:
        source, tenant = self._world.texts, self._planned.tenant
        return await asyncio.gather(*(source.fetch(tenant, corpus, ids, timeout_s) for corpus, ids in wanted.items()))

    # -- time ---------------------------------------------------------------------------------------------------

    def _elapsed_ms(self) -> float:
        return self._world.clock.elapsed_ms(self._planned.submitted_ns)

    def _left_s(self) -> float:
        query = self._planned.query
        return budget.left_to_wait_ms(self._elapsed_ms(), query.budget_ms, include_text=query.include_text) / 1e3


def _merge(replies: Iterable[tuple[str, ChunksReply | None]]) -> Texts:
    known: dict[Identity, ChunkText] = {}
    gone: set[Identity] = set()
    for corpus, reply in replies:
        if reply is not None:
            known.update({(corpus, chunk.chunk_id): chunk for chunk in reply.chunks})
            gone.update((corpus, chunk_id) for chunk_id in reply.gone)
    return Texts(known, gone)
