"""One command from its arrival to its reply: embed, ask the engine, type what went wrong.

In: a command and the subject's word on whose it is. Out: the reply, and what it says about the backend. Publishes
nothing; every failure is data on the reply.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fanfuse_backend_workers.admission import Admission
from fanfuse_backend_workers.catalog import Catalog, EngineKey
from fanfuse_backend_workers.domain.budget import time_for_search_ms
from fanfuse_backend_workers.domain.outcomes import is_backend_fault
from fanfuse_backend_workers.domain.replies import address_of, answered, failed
from fanfuse_backend_workers.domain.requests import build_request, check_dimensions, check_subject, embedder_for_text
from fanfuse_backend_workers.embedding import QueryEmbedding
from fanfuse_backend_workers.ports import EngineResult, SearchEngine, SearchError, SearchRequest
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_runtime.cancelled import Cancelled
from fanfuse_runtime.logs import get_logger

_log = get_logger("backend-workers")


class Clock(Protocol):
    """Broker time."""

    def remaining_ms(self, submitted_ns: int, budget_ms: int) -> float:
        """Milliseconds left of a budget; negative when it is over."""


@dataclass(frozen=True, slots=True)
class LaneEnd:
    """A reply, and whether it is a word on the backend: it answered, or failed by its own fault."""

    reply: LaneReply
    speaks_of_backend: bool = False


class Worker:
    """Answers commands. Holds no state but the last cancellations."""

    def __init__(
        self,
        catalog: Catalog,
        embedding: QueryEmbedding,
        admission: Admission,
        clock: Clock,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog = catalog
        self._embedding = embedding
        self._admission = admission
        self._clock = clock
        self._steady_s = steady_s
        self._cancelled = Cancelled()

    def cancel(self, tenant: str, query_id: str) -> None:
        """The caller of this query no longer waits: commands of it that come from now on are skipped."""
        self._cancelled.remember((tenant, query_id), self._steady_s())

    async def answer(self, command: RetrieveCommand, claimed: RetrieveCommand) -> LaneEnd:
        """Answer `command`, whose kind, tenant and corpus are the subject's; `claimed` is the payload as it came."""
        try:
            check_subject(command, claimed)
            self._check_wanted(command)
            return await self._search(command)
        except SearchError as error:
            log = _log.debug if error.kind is FailureKind.EXPIRED else _log.warning
            log("lane.failed", **_facts(command, error))
            return LaneEnd(failed(address_of(command), error))

    def _check_wanted(self, command: RetrieveCommand) -> None:
        if (command.tenant, command.query_id) in self._cancelled:
            raise SearchError(FailureKind.EXPIRED, "the caller cancelled the query")
        self._left_s(command)

    def _left_s(self, command: RetrieveCommand) -> float:
        """Seconds left for searching; raises EXPIRED where there are none."""
        remaining_ms = self._clock.remaining_ms(command.submitted_ns, command.budget_ms)
        left_ms = time_for_search_ms(remaining_ms, command.budget_ms)
        if left_ms <= 0:
            raise SearchError(FailureKind.EXPIRED, f"the budget of {command.budget_ms} ms is over")
        return left_ms / 1e3

    async def _search(self, command: RetrieveCommand) -> LaneEnd:
        key = EngineKey(command.tenant, command.corpus, command.kind, command.backend)
        async with self._catalog.engine(key) as opened:
            vector = await self._vector(command, opened.card)
            async with self._admission.admitted(key):
                request = build_request(command, vector, self._left_s(command))
                try:
                    result = await ask(opened.engine, request)
                except SearchError as error:
                    _log.warning("lane.failed", **_facts(command, error))
                    return LaneEnd(
                        failed(address_of(command), error), is_backend_fault(error.kind, request.timeout_s * 1e3)
                    )
        return LaneEnd(answered(command, request, result, opened.card.generation), speaks_of_backend=True)

    async def _vector(self, command: RetrieveCommand, card: CorpusCard) -> tuple[float, ...] | None:
        if command.kind is not Kind.VECTOR:
            return None
        if command.vector is None:
            embedder = embedder_for_text(card, command.text)
            return await self._embedding.vector(embedder, command.text, self._left_s(command))
        check_dimensions(card, command.vector)
        return command.vector


async def ask(engine: SearchEngine, request: SearchRequest) -> EngineResult:
    """The engine's result within the request's time. Raises `SearchError` whatever goes wrong."""
    try:
        async with asyncio.timeout(request.timeout_s):
            return await engine.search(request)
    except SearchError:
        raise
    except TimeoutError as error:
        raise SearchError(FailureKind.TIMEOUT, f"no answer within {request.timeout_s * 1e3:.0f} ms") from error
    except Exception as error:
        _log.error("engine.raised", kind=engine.kind.value, exc_info=error)
        raise SearchError(FailureKind.UNAVAILABLE, f"the engine failed: {type(error).__name__}") from error


def _facts(command: RetrieveCommand, error: SearchError) -> dict[str, str]:
    return {
        "tenant": command.tenant,
        "query_id": command.query_id,
        "lane": command.lane,
        "backend": f"{command.kind.value}/{command.backend}",
        "failure": error.kind.value,
        "error": error.message,
    }
