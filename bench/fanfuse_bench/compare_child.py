"""One peer in a process of its own: asked at a pace, and metered while it is.

Run by the benchmark as `python -m fanfuse_bench.compare_child <peer> <plan file>`. The plan says where the index is and
what the questions need. Each line of standard input is a load; each line of standard output is what became of it.
"""

import asyncio
import json
import logging
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from fanfuse_backend_workers.ports import SearchRequest
from fanfuse_bench.compare_engines import Situation, Trouble, distant_engines
from fanfuse_bench.compare_peers import PEERS, Ask, Place
from fanfuse_bench.metering import lines, tell
from fanfuse_bench.pacing import paced
from fanfuse_contracts.corpus import CorpusCard


class Asked:
    """What became of the queries of one load."""

    def __init__(self) -> None:
        self.latencies_ms: list[float] = []
        self.failed: Counter[str] = Counter()

    async def one(self, ask: Ask, text: str) -> None:
        """Wait for one answer, whatever it takes."""
        began = time.perf_counter()
        try:
            await ask(text)
        except Exception as error:  # noqa: BLE001  # whatever a peer raises is its answer
            self.failed[type(error).__name__] += 1
        else:
            self.latencies_ms.append((time.perf_counter() - began) * 1e3)


async def _load(ask: Ask, texts: list[str], load: dict[str, Any]) -> dict[str, Any]:
    asked = Asked()
    began, cpu = time.perf_counter(), time.process_time()
    chosen = [texts[number % len(texts)] for number in range(load["queries"])]
    await paced((partial(asked.one, ask, text) for text in chosen), load["pace"])
    return {
        "seconds": time.perf_counter() - began,
        "cpu_s": time.process_time() - cpu,
        "latencies_ms": asked.latencies_ms,
        "failed": dict(asked.failed),
    }


async def _serve(peer: str, plan: dict[str, Any]) -> None:
    situation = Situation(plan["away_s"])
    card = CorpusCard.model_validate(plan["card"])
    open_engine = distant_engines(Path(plan["data_dir"]), situation)
    engines = {wiring.kind: await open_engine(card, wiring) for wiring in card.backends}
    requests = {
        one["text"]: SearchRequest(
            card.tenant,
            card.corpus,
            one["text"],
            plan["window"],
            30.0,
            vector=tuple(one["vector"]),
            seeds=tuple(one["seeds"]),
        )
        for one in plan["questions"]
    }
    ask = PEERS[peer](Place(engines, requests))
    reader = await lines()
    tell({"ready": True})
    while line := await reader.readline():
        load = json.loads(line)
        situation.trouble = Trouble(load.get("trouble", Trouble.NONE))
        tell(await _load(ask, list(requests), load))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(_serve(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
