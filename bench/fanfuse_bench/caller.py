"""The caller's process: asks the queries of one file through the client and counts every answer that is heard.

Run by the benchmark as `python -m fanfuse_bench.caller <url> <plan file>`; the plan says tenant, queries, and how many
run at once or start per second. Prints one JSON line; a progress line on standard error now and then.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import nats
from nats.aio.msg import Msg

from fanfuse_client import Client, ClientError
from fanfuse_contracts import subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.query import Principal, SubmittedQuery

_SETTLE_S: Final = 0.3
"""A second answer would be heard within this time."""
_PROGRESS_EVERY_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of one query, in milliseconds."""

    query_id: str
    status: str
    latency_ms: float
    elapsed_ms: float
    submitted_ns: int
    lanes: int
    hits: int
    hops: dict[str, float]


class Asking:
    """One run."""

    def __init__(self, client: Client, queries: dict[str, SubmittedQuery]) -> None:
        self._client = client
        self._queries = queries
        self.asked: list[Asked] = []
        self.lost: Counter[str] = Counter()
        self._said = time.monotonic()

    async def at_once(self, concurrency: int) -> None:
        """Every query, so many at a time."""
        waiting = iter(self._queries.items())

        async def work() -> None:
            for query_id, query in waiting:
                await self._ask(query_id, query)

        await asyncio.gather(*(work() for _ in range(concurrency)))

    async def per_second(self, rate: float) -> None:
        """Every query at its own moment, however long the others take."""
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number, (query_id, query) in enumerate(self._queries.items()):
                await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
                group.create_task(self._ask(query_id, query))

    async def _ask(self, query_id: str, query: SubmittedQuery) -> None:
        began = time.perf_counter()
        try:
            answer = await self._client.ask(query, query_id=query_id)
        except ClientError as error:
            self.lost[type(error).__name__] += 1
        else:
            self.asked.append(_asked(query_id, answer, (time.perf_counter() - began) * 1e3))
        self._progress()

    def _progress(self) -> None:
        if time.monotonic() - self._said > _PROGRESS_EVERY_S:
            self._said = time.monotonic()
            sys.stderr.write(f"  {len(self.asked)} of {len(self._queries)} queries answered\n")


def _asked(query_id: str, answer: Answer, latency_ms: float) -> Asked:
    return Asked(
        query_id,
        answer.status.value,
        latency_ms,
        answer.elapsed_ms,
        answer.submitted_ns,
        answer.coverage.expected,
        len(answer.hits),
        {hop.stage.value: hop.at_ms for hop in answer.hops},
    )


async def _run(url: str, plan: dict[str, Any]) -> dict[str, Any]:
    tenant: str = plan["tenant"]
    queries = {query_id: SubmittedQuery.model_validate(fields) for query_id, fields in plan["queries"].items()}
    heard: Counter[str] = Counter()

    async def hear(msg: Msg) -> None:
        heard[subjects.parse_query(msg.subject).query_id] += 1

    ledger = await nats.connect(url)
    await ledger.subscribe(subjects.answered_of_tenant(tenant), cb=hear)
    await ledger.flush()
    async with Client(url, tenant, principal=Principal(id="bench")) as client:
        asking = Asking(client, queries)
        run: Callable[[], Awaitable[None]] = (
            (lambda: asking.per_second(plan["rate"])) if "rate" in plan else (lambda: asking.at_once(plan["at_once"]))
        )
        began, cpu = time.perf_counter(), time.process_time()
        await run()
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        await asyncio.sleep(_SETTLE_S)
    await ledger.close()
    return {
        "asked": [asdict(row) for row in asking.asked],
        "lost": dict(asking.lost),
        "heard_twice": sum(times > 1 for times in heard.values()),
        "never_heard": sum(query_id not in heard for query_id in queries),
        "seconds": seconds,
        "cpu_s": cpu_s,
    }


if __name__ == "__main__":
    plan_file = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(asyncio.run(_run(sys.argv[1], plan_file))) + "\n")
