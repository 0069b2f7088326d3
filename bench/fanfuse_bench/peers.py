"""Fusion beside ranx, LangChain and Haystack: the same lists, one process, in turn.

In: options of the command line. Out: a Markdown table. The peers are installed into an environment of their own, in a
temporary folder or the given one; Fanfuse itself never depends on them.
"""

import argparse
import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from fanfuse_bench.figures import table
from fanfuse_bench.runs import say

PEERS: Final = ("ranx==0.3.21", "langchain-classic==1.0.8", "haystack-ai==3.4.1")
COMPARED: Final = "LangChain EnsembleRetriever"
"""The fastest of the others."""
_HERE: Final = Path(__file__).resolve().parents[1]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `peers`."""
    parser.add_argument("--rounds", type=int, default=400, help="how many fusions of each are timed (400)")
    parser.add_argument("--environment", type=Path, help="keep the peers' environment in this folder, and use it again")


def measure(options: argparse.Namespace) -> str:
    """Install the peers where they are not, and let everybody fuse."""
    if options.environment is not None:
        return _measure(options.environment, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        return _measure(Path(folder), options.rounds)


def _measure(folder: Path, rounds: int) -> str:
    python = folder / "bin" / "python"
    if not python.exists():
        say(f"installing {', '.join(PEERS)}")
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
    # The peers' own packages come first, then those of this environment.
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    ours = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(site) / "zz_fanfuse.pth").write_text(ours, encoding="utf-8")
    say(f"{rounds} fusions of each")
    done = subprocess.run(
        [python, "-W", "ignore", "-m", "fanfuse_bench.peer_fusion", str(rounds)],
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
