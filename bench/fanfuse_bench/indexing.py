"""Building and searching the embedded engines: time, memory, disk, and how they grow with the number of documents.

In: options of the command line. Out: Markdown tables. Every part of every size is built in a process of its own, one
after the other.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from fanfuse_bench import runs
from fanfuse_bench.figures import table

PARTS: Final = ("texts", "keyword", "vector", "graph")
_WITHIN_S: Final = 1_800

Measured = dict[tuple[str, int], dict[str, Any]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `indexing`."""
    parser.add_argument("--documents", type=int, nargs="+", default=[5_000, 50_000], help="sizes (5000 50000)")


def measure(options: argparse.Namespace) -> str:
    """Tables of building and of searching."""
    found: Measured = {}
    for count in options.documents:
        with tempfile.TemporaryDirectory(prefix="fanfuse-bench-") as folder:
            for part in PARTS:
                runs.say(f"{part} of {count:,} documents")
                found[part, count] = _run(part, count, Path(folder))
    return "\n\n".join((_building(found, options.documents), _searching(found, options.documents)))


def _run(part: str, count: int, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "fanfuse_bench.indexing_child", part, str(count), str(folder)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], check=True, stdout=subprocess.PIPE, timeout=_WITHIN_S)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _building(found: Measured, sizes: Sequence[int]) -> str:
    header = ("part", "documents", "CPU s", "wall s", "CPU ms per document", "peak memory MB", "disk MB", "open ms")
    rows = (_built(part, count, found[part, count]) for part in PARTS for count in sizes)
    return table(header, rows)


def _built(part: str, count: int, figures: dict[str, Any]) -> Sequence[object]:
    each = f"{figures['cpu_s'] / count * 1e3:.3f}"
    opened = f"{figures['open_s'] * 1e3:.1f}" if "open_s" in figures else "-"
    sizes = (f"{figures[name]:.0f}" for name in ("peak_mb", "disk_mb"))
    return part, f"{count:,}", f"{figures['cpu_s']:.1f}", f"{figures['wall_s']:.1f}", each, *sizes, opened


def _searching(found: Measured, sizes: Sequence[int]) -> str:
    header = ("engine", "search", *(f"p50 / p95 ms at {count:,}" for count in sizes), "growth of p50")
    return table(header, (row for part in PARTS[1:] for row in _searched(part, found, sizes)))


def _searched(part: str, found: Measured, sizes: Sequence[int]) -> Iterable[Sequence[object]]:
    for name in found[part, sizes[0]]["ms"]:
        spent = [found[part, count]["ms"][name] for count in sizes]
        yield part, name, *(f"{p50:.2f} / {p95:.2f}" for p50, p95 in spent), f"× {spent[-1][0] / spent[0][0]:.1f}"
