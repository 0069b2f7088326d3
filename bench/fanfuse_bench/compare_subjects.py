"""Contenders that are ready to be asked: a peer's process, Fanfuse on its bus, the floor. In: a load. Out: figures."""

import json
import time
from collections import Counter
from functools import partial
from typing import Any, Final, Protocol
from uuid import uuid4

from fanfuse_bench import runs
from fanfuse_bench.children import Child, cpu_s, peak_mb
from fanfuse_bench.compare_engines import Trouble
from fanfuse_bench.compare_outcome import Outcome
from fanfuse_bench.corpora import TENANT, Questions
from fanfuse_bench.pacing import paced
from fanfuse_client import Client, ClientError
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind, LaneOutcome, Status
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.quorum import LOST

_LOAD_WITHIN_S: Final = 600.0
_ANSWERED: Final = frozenset({Status.COMPLETE, Status.PARTIAL})
_LISTED: Final = frozenset({LaneOutcome.ANSWERED, LaneOutcome.EMPTY, LaneOutcome.CUT, LaneOutcome.SKIPPED_NO_INPUT})


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
        if not answer.hits or answer.status not in _ANSWERED:
            self.failed[refused(answer)] += 1
            return
        self.latencies_ms.append((time.perf_counter() - began) * 1e3)
        self.whole += not missing(answer)
        self.named += names_what_is_missing(answer)


def refused(answer: Answer) -> str:
    """Why there are no hits: the status, what is wrong, and every lane."""
    why = answer.rejection.message if answer.rejection else "no hits"
    lanes = ", ".join(
        f"{lane.kind.value} {lane.outcome.value} {lane.failure.value if lane.failure else ''}".rstrip()
        for lane in answer.coverage.lanes
    )
    return f"{answer.status.value}: {why} [{lanes}]"


def missing(answer: Answer) -> set[Kind]:
    """The kinds of engine whose list is not in an answer over one corpus with all three."""
    return set(Kind) - {lane.kind for lane in answer.coverage.lanes if lane.outcome in _LISTED}


def names_what_is_missing(answer: Answer) -> bool:
    """True if lists are missing, and each lane without one is told with its reason."""
    told = {lane.kind for lane in answer.coverage.lanes if lane.outcome in LOST and lane.reason}
    return answer.status is Status.PARTIAL and bool(missing(answer)) and missing(answer) <= told


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
