"""Contenders that are ready to be asked: a peer's process, Fanfuse on its bus, the floor. In: a load. Out: figures."""

import json
import time
from collections import Counter
from functools import partial
from typing import Any, Final, Protocol
from uuid import uuid4

from fanfuse_bench import runs
from fanfuse_bench.children import Child, cpu_s
from fanfuse_bench.compare_engines import TROUBLED, Trouble
from fanfuse_bench.compare_outcome import Outcome, peak_mb
from fanfuse_bench.corpora import TENANT, Questions
from fanfuse_bench.pacing import paced
from fanfuse_client import Client, ClientError
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import LaneOutcome, Status
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.quorum import LOST

_LOAD_WITHIN_S: Final = 600.0
_ANSWERED: Final = frozenset({Status.COMPLETE, Status.PARTIAL})
_WHOLE: Final = frozenset({LaneOutcome.ANSWERED, LaneOutcome.EMPTY, LaneOutcome.SKIPPED_NO_INPUT})


class Subject(Protocol):
    """Who is compared."""

    name: str

    async def load(self, load: dict[str, Any]) -> Outcome:
        """Ask `load["queries"]` queries at `load["pace"]`."""
        ...


class PeerSubject:
    """A peer in its process."""

    def __init__(self, name: str, child: Child) -> None:
        self.name = name
        self._child = child

    async def load(self, load: dict[str, Any]) -> Outcome:
        """Its own figures."""
        told = await self._child.ask(json.dumps(load), _LOAD_WITHIN_S)
        return Outcome(
            self.name, load["queries"], told["seconds"], tuple(told["latencies_ms"]), told["cpu_s"],
            peak_mb=peak_mb(self._child.pid), failed=told["failed"],
        )  # fmt: skip


class FanfuseSubject:
    """The services in their process; the caller is this one."""

    name = "Fanfuse"

    def __init__(
        self, where: runs.Place, host: Child, queries: list[SubmittedQuery], calm: list[SubmittedQuery]
    ) -> None:
        """`calm`: the same with a long budget, so that a cold process is not held against its backends."""
        self._where, self._host, self._queries, self._calm = where, host, queries, calm

    @property
    def url(self) -> str:
        """Of its bus."""
        return self._where.server.url

    async def load(self, load: dict[str, Any]) -> Outcome:
        """Through the client, as any caller."""
        await self._host.ask(load.get("trouble", Trouble.NONE))
        asked = _Asked()
        async with Client(self.url, TENANT, principal=Principal(id="bench")) as client:
            began, spent = time.perf_counter(), self._spent()
            asking = self._calm if load.get("calm") else self._queries
            chosen = [asking[number % len(asking)] for number in range(load["queries"])]
            await paced((partial(asked.one, client, query) for query in chosen), load["pace"])
            seconds, after = time.perf_counter() - began, self._spent()
        host, beside = (after[at] - spent[at] for at in range(2))
        memory = peak_mb(self._host.pid, self._where.server.pid)
        return Outcome(
            self.name, load["queries"], seconds, tuple(asked.latencies_ms), host, beside, memory, dict(asked.failed),
            asked.whole, asked.named,
        )  # fmt: skip

    def _spent(self) -> tuple[float, float]:
        return cpu_s(self._host.pid), cpu_s(self._where.server.pid) + time.process_time()


class _Asked:
    """What became of Fanfuse's queries."""

    def __init__(self) -> None:
        self.latencies_ms: list[float] = []
        self.failed: Counter[str] = Counter()
        self.whole = 0
        self.named = 0

    async def one(self, client: Client, query: SubmittedQuery) -> None:
        began = time.perf_counter()
        try:
            answer = await client.ask(query, query_id=uuid4().hex)
        except ClientError as error:
            self.failed[type(error).__name__] += 1
            return
        if answer.status not in _ANSWERED:
            why = answer.rejection.message if answer.rejection else "no reason"
            self.failed[f"{answer.status.value}: {why}"] += 1
            return
        self.latencies_ms.append((time.perf_counter() - began) * 1e3)
        self.whole += _is_whole(answer)
        self.named += _names_it(answer)


def _is_whole(answer: Answer) -> bool:
    return answer.status is Status.COMPLETE and all(lane.outcome in _WHOLE for lane in answer.coverage.lanes)


def _names_it(answer: Answer) -> bool:
    lost = [lane for lane in answer.coverage.lanes if lane.outcome in LOST]
    return answer.status is Status.PARTIAL and any(lane.kind is TROUBLED and lane.reason for lane in lost)


class FloorSubject:
    """The floor: recorded bytes over the same streams by plain nats-py; it asks no engine."""

    name = "raw bus (asks no engine)"

    def __init__(self, floor: runs.Subject, questions: Questions) -> None:
        self._floor, self._questions = floor, questions

    async def load(self, load: dict[str, Any]) -> Outcome:
        """Its figures as those of any run."""
        pace = load["pace"]
        run = await self._floor.run(self._questions, runs.Load(load["queries"], 0, pace, {"include_text": False}))
        per_query = load["queries"] / 1e3
        return Outcome(
            self.name, load["queries"], run.seconds, (), run.cpu_ms * per_query,
            (run.server_ms + run.caller_cpu_ms) * per_query,
        )  # fmt: skip
