"""Fusion beside ranx, LangChain and Haystack: the same lists, one process, in turn.

In: options of the command line. Out: a Markdown table. The peers have an environment of their own: Fanfuse
itself never depends on them.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from fanfuse_bench.figures import table
from fanfuse_bench.peer_environment import peers_python
from fanfuse_bench.runs import say

COMPARED: Final = "LangChain EnsembleRetriever"
"""The fastest of the others."""
_HERE: Final = Path(__file__).resolve().parents[1]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `peers`."""
    parser.add_argument("--rounds", type=int, default=400, help="how many fusions of each are timed (400)")
    parser.add_argument("--environment", type=Path, help="folder of the peers' environment (one among temporary files)")


def measure(options: argparse.Namespace) -> str:
    """Install the peers where they are not, and let everybody fuse."""
    python = peers_python(options.environment)
    say(f"{options.rounds} fusions of each")
    done = subprocess.run(
        [python, "-W", "ignore", "-m", "fanfuse_bench.peer_fusion", str(options.rounds)],
        check=True, stdout=subprocess.PIPE, stderr=sys.stderr, cwd=_HERE,
    )  # fmt: skip
    return report(json.loads(done.stdout))


def report(told: Mapping[str, Any]) -> str:
    """Times in µs and as a share of LangChain's of the same round; places and scores against exact fractions."""
    theirs = told[COMPARED]["cpu_ns"]
    rows = [
        (
            name,
            f"{median(one['cpu_ns']) / 1e3:.0f}",
            f"{min(one['cpu_ns']) / 1e3:.0f}",
            f"{median(one['wall_ns']) / 1e3:.0f}",
            f"{median(ours / other for ours, other in zip(one['cpu_ns'], theirs, strict=True)):.2f}",
            "by seats" if one["places"] is None else one["places"],
            "none given" if one["worst"] is None else f"{one['worst']:.1e}",
        )
        for name, one in told.items()
    ]
    header = (
        "", "CPU µs p50", "least", "wall µs p50", f"of {COMPARED}", "places unlike exact", "largest error of a score"
    )  # fmt: skip
    return table(header, rows)
