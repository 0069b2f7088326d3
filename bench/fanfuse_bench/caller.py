"""The caller's process: asks the queries of one file through the client and counts every answer that is heard.

Run by the benchmark as `python -m fanfuse_bench.caller <url> <plan file>`; the plan says tenant, queries, and how many
run at once or start per second. Prints one JSON line; a progress line on standard error now and then.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import nats
from nats.aio.msg import Msg

from fanfuse_bench.pacing import paced
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

    async def run(self, pace: Mapping[str, float]) -> None:
        """Every query, at a pace."""
        await paced((partial(self._ask, *one) for one in self._queries.items()), pace)

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
        began, cpu = time.perf_counter(), time.process_time()
        await asking.run({name: plan[name] for name in ("rate", "at_once") if name in plan})
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
