"""The flow without its decisions: bus and codec alone, for `bench/run.py floor`.

In: the services of this process. Effect: what classifies, plans, searches, fuses and judges is done once for real, and
from then on answered by what came of that, with the ids of the query at hand. Everything else is the shipped code:
subscribers, the contract's models and their JSON, deliveries and acknowledgements, publishes, join, traces, metrics,
logs. Only the benchmark's own process may be changed like this.
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from fanfuse_backend_workers import service as workers
from fanfuse_backend_workers.worker import LaneEnd, Worker
from fanfuse_classifier import bus as classifier
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.base import Model
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.plan import Lane, QueryPlanned, RetrieveCommand
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_corpus_router import bus as router
from fanfuse_corpus_router.domain.planning import PlannedQuery
from fanfuse_fuser import joining
from fanfuse_fuser.domain import join
from fanfuse_fuser.domain.quality import Tally

_Function = Callable[..., Any]
_M = TypeVar("_M", bound=Model)


def record_decisions(delay_s: float) -> None:
    """Replace every decision of this process by its first result; a search takes `delay_s` seconds."""
    _replace(classifier, _first, "classify")
    _replace(router, _planned, "plan_in_time")
    _replace(workers, lambda _real: _recorded_worker(delay_s), "Worker")
    _replace(joining, _first, "can_be_early", "has_a_page", "ranked_lists", "fuse", "page_of", "lanes_to_report")
    _replace(joining, _assembled, "assemble")
    _replace(join, _ranked, "RankedList")
    _replace(Tally, lambda _real: lambda *_: None, "add")


def _replace(where: object, recorded: Callable[[_Function], object], *names: str) -> None:
    for name in names:
        setattr(where, name, recorded(getattr(where, name)))


def _first(real: _Function, key: Callable[..., Hashable] = lambda *_, **__: None) -> _Function:
    """`real`, asked once for each key."""
    known: dict[Hashable, Any] = {}

    def recorded(*arguments: Any, **named: Any) -> Any:
        about = key(*arguments, **named)
        if about not in known:
            known[about] = real(*arguments, **named)
        return known[about]

    return recorded


def _planned(real: _Function) -> _Function:
    plan = _first(real)

    def recorded(event: QueryClassified, *others: Any) -> PlannedQuery:
        known: PlannedQuery = plan(event, *others)
        mine = {"query_id": event.query_id, "submitted_ns": event.submitted_ns}
        return PlannedQuery(known.plan, tuple(_copy(one, **mine) for one in known.commands))

    return recorded


def _ranked(real: _Function) -> _Function:
    def lane_and_reply(lane: Lane, hits: Sequence[LaneHit]) -> Hashable:
        return lane.name, bool(hits)

    return _first(real, lane_and_reply)


def _assembled(real: _Function) -> _Function:
    first = _first(real)

    def recorded(planned: QueryPlanned, *others: Any, **times: Any) -> Answer:
        known: Answer = first(planned, *others, **times)
        mine = {"query_id": planned.query_id, "submitted_ns": planned.submitted_ns, "elapsed_ms": times["elapsed_ms"]}
        return _copy(known, **mine, hops=(*planned.hops, known.hops[-1]))

    return recorded


def _recorded_worker(delay_s: float) -> type[Worker]:
    class RecordedWorker(Worker):
        """Answers each lane as it was answered first."""

        _known: dict[str, LaneEnd]

        async def answer(self, command: RetrieveCommand, claimed: RetrieveCommand) -> LaneEnd:
            """The first answer of the lane, after the delay."""
            known = self.__dict__.setdefault("_known", {})
            if command.lane not in known:
                known[command.lane] = await super().answer(command, claimed)
            await asyncio.sleep(delay_s)
            end: LaneEnd = known[command.lane]
            return LaneEnd(_copy(end.reply, query_id=command.query_id), end.speaks_of_backend)

    return RecordedWorker


def _copy(model: _M, **mine: Any) -> _M:
    """The model of another query. Only this: a real decision makes a new one, which is not the bus's work."""
    return type(model).of_checked({**model.__dict__, **mine})
