"""One command from its arrival to its reply: embed once, ask the engine of each corpus, type what went wrong.

In: a command and the subject's word on whose it is. Out: the reply, and what it says about the backend. Publishes
nothing; every failure is data on the reply. A lane of several corpora answers for all of them or fails.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from fanfuse_backend_workers.admission import Admission
from fanfuse_backend_workers.catalog import Catalog, EngineKey, OpenCorpus
from fanfuse_backend_workers.domain.budget import time_for_search_ms
from fanfuse_backend_workers.domain.outcomes import is_backend_fault
from fanfuse_backend_workers.domain.replies import Searched, address_of, answered, failed
from fanfuse_backend_workers.domain.requests import (
    build_request,
    check_dimensions,
    check_shared,
    check_subject,
    common_card,
    corpora_of,
    embedder_for_text,
)
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

    def was_interrupted(self, submitted_ns: int, budget_ms: int) -> bool:
        """True if the bus was away since a query was stored, or less than its budget before."""


@dataclass(frozen=True, slots=True)
class LaneEnd:
    """A reply, and whether it is a word on the backend: it answered, or failed by its own fault."""

    reply: LaneReply
    speaks_of_backend: bool = False
    given_ms: float = 0.0
    """The time that an engine which failed had at most."""


class LaneError(SearchError):
    """The search of one corpus of a lane failed. `given_ms`: the time its engine had; None: it was not asked."""

    def __init__(self, kind: FailureKind, message: str, given_ms: float | None) -> None:
        super().__init__(kind, message)
        self.given_ms = given_ms


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
        """Nobody waits for this query any more: commands of it that have not reached their engine are skipped."""
        self._cancelled.remember((tenant, query_id), self._steady_s())

    async def answer(self, command: RetrieveCommand, claimed: RetrieveCommand) -> LaneEnd:
        """Answer `command`, whose kind, tenant and corpus are the subject's; `claimed` is the payload as it came."""
        try:
            check_subject(command, claimed)
            check_shared(command)
            self._check_wanted(command)
            self._left_s(command)
            return await self._search(command)
        except SearchError as error:
            log = _log.debug if error.kind is FailureKind.EXPIRED else _log.warning
            log("lane.failed", **_facts(command, error))
            return self._failed(command, error)

    def _failed(self, command: RetrieveCommand, error: SearchError) -> LaneEnd:
        reply = failed(address_of(command), error)
        if not isinstance(error, LaneError) or error.given_ms is None:
            return LaneEnd(reply)
        interrupted = self._clock.was_interrupted(command.submitted_ns, command.budget_ms)
        return LaneEnd(reply, is_backend_fault(error.kind, error.given_ms, interrupted=interrupted), error.given_ms)

    def _check_wanted(self, command: RetrieveCommand) -> None:
        if (command.tenant, command.query_id) in self._cancelled:
            raise SearchError(FailureKind.EXPIRED, "the query was cancelled, or answered without this lane")

    def _left_s(self, command: RetrieveCommand) -> float:
        """Seconds left for searching; raises EXPIRED where there are none."""
        remaining_ms = self._clock.remaining_ms(command.submitted_ns, command.budget_ms)
        left_ms = time_for_search_ms(remaining_ms, command.budget_ms)
        if left_ms <= 0:
            raise SearchError(FailureKind.EXPIRED, f"the budget of {command.budget_ms} ms is over")
        return left_ms / 1e3

    async def _search(self, command: RetrieveCommand) -> LaneEnd:
        keys = [EngineKey(command.tenant, corpus, command.kind, command.backend) for corpus in corpora_of(command)]
        with ExitStack() as leases:
            opened = [await self._open(leases, command, key) for key in keys]
            vector = await self._vector(command, common_card([one.card for one in opened]))
            pairs = zip(keys, opened, strict=True)
            parts = await _all_of([self._ask(command, key, one, vector) for key, one in pairs])
        return LaneEnd(answered(command, parts), speaks_of_backend=True)

    async def _open(self, leases: ExitStack, command: RetrieveCommand, key: EngineKey) -> OpenCorpus:
        try:
            return leases.enter_context(await self._catalog.engine(key))
        except SearchError as error:
            raise SearchError(error.kind, _of_corpus(command, key.corpus, error.message)) from error

    async def _ask(
        self, command: RetrieveCommand, key: EngineKey, opened: OpenCorpus, vector: tuple[float, ...] | None
    ) -> Searched:
        given_ms = None
        try:
            # A shared search holds a corpus's turn only while that corpus is searched.
            with await self._admission.admitted(key):
                # It may have been cancelled while it was embedded, or waited for its turn.
                self._check_wanted(command)
                request = build_request(command, key.corpus, vector, self._left_s(command))
                given_ms = request.timeout_s * 1e3
                return Searched(request, await ask(opened.engine, request), opened.card.generation)
        except SearchError as error:
            raise LaneError(error.kind, _of_corpus(command, key.corpus, error.message), given_ms) from error

    async def _vector(self, command: RetrieveCommand, card: CorpusCard) -> tuple[float, ...] | None:
        if command.kind is not Kind.VECTOR:
            return None
        if command.vector is None:
            embedder = embedder_for_text(card, command.text)
            return await self._embedding.vector(embedder, command.text, self._left_s(command))
        check_dimensions(card, command.vector)
        return command.vector


async def _all_of(parts: Sequence[Coroutine[None, None, Searched]]) -> list[Searched]:
    """Every part, in order. All are waited for, so that no engine is let go of while it searches; then the first
    failure is raised."""
    if len(parts) == 1:
        return [await parts[0]]
    ended = await asyncio.gather(*parts, return_exceptions=True)
    for part in ended:
        if isinstance(part, BaseException):
            raise part
    return [part for part in ended if not isinstance(part, BaseException)]


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


def _of_corpus(command: RetrieveCommand, corpus: str, message: str) -> str:
    """The message, naming the corpus to blame where the lane has several."""
    return f"corpus {corpus!r}: {message}" if command.corpora else message


def _facts(command: RetrieveCommand, error: SearchError) -> dict[str, str]:
    return {
        "tenant": command.tenant,
        "query_id": command.query_id,
        "lane": command.lane,
        "backend": f"{command.kind.value}/{command.backend}",
        "failure": error.kind.value,
        "error": error.message,
    }
