"""One measured process: builds and searches one part of one generation, and tells its figures as JSON.

Run by the benchmark as `python -m fanfuse_bench.indexing_child <part> <documents> <folder>`; parts: texts, a kind.
A process of its own, so that the peak of memory is that of this part alone.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from fanfuse_backend_workers.adapters.embedded import index_builder
from fanfuse_backend_workers.adapters.sqlite_texts import read_texts, write_texts
from fanfuse_bench.figures import quantile
from fanfuse_bench.indexing_documents import CORPUS, TENANT, documents, questions, searches
from fanfuse_contracts.enums import Kind

TEXTS: Final = "texts"
_ASKED: Final = 100
_WARM: Final = 10


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()  # getrusage would tell the peak of the process that started this one
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _disk_mb(folder: Path) -> float:
    """What the files really take: some are preallocated."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20


def _built(folder: Path, build: Callable[[], int], count: int) -> dict[str, Any]:
    before_mb, wall, cpu = _peak_mb(), time.perf_counter(), time.process_time()
    assert build() == count
    return {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_mb": _peak_mb() - before_mb,
        "disk_mb": _disk_mb(folder),
    }


async def _asked(kind: Kind, folder: Path, count: int) -> dict[str, Any]:
    before = time.process_time()
    engine = await index_builder(kind).open(folder)
    opened_s, times = time.process_time() - before, {}
    for question in questions(count):
        spent = [await _search_ms(engine.search, request) for request in searches(count, _ASKED, question.filter)]
        times[question.name] = [quantile(spent[_WARM:], 0.5), quantile(spent[_WARM:], 0.95)]
    await engine.close()
    return {"open_s": opened_s, "ms": times}


async def _search_ms(search: Callable[..., Any], request: Any) -> float:
    before = time.process_time()
    await search(request)
    return (time.process_time() - before) * 1e3


def measure(part: str, count: int, data: Path) -> dict[str, Any]:
    """Figures of one part; the indexes are built from the texts' file, as a run of `fanfuse index` does."""
    folder, texts = data / part, data / TEXTS / "chunks.sqlite"
    folder.mkdir(parents=True)
    if part == TEXTS:
        return _built(folder, lambda: write_texts(texts, documents(count)), count)
    kind = Kind(part)
    for _ in zip(read_texts(texts), range(100), strict=False):
        pass  # what reading itself loads is no engine's memory
    figures = _built(folder, lambda: index_builder(kind).build(folder, TENANT, CORPUS, read_texts(texts)), count)
    return figures | asyncio.run(_asked(kind, folder, count))


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
