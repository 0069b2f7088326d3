"""How cost and throughput grow: with lanes, corpora, hits asked for, documents, workers.

In: options of the command line. Out: a Markdown table each, and with `--picture` all of them as an SVG.
"""

import argparse
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from fanfuse_bench import growth_corpora, growth_documents, growth_lanes, growth_workers
from fanfuse_bench.growth_series import Series, picture, report

WHAT: Final[Mapping[str, Callable[[argparse.Namespace], Awaitable[Series]]]] = {
    "lanes": growth_lanes.measure,
    "corpora": growth_corpora.measure,
    "top-k": growth_documents.measure_top_k,
    "documents": growth_documents.measure_documents,
    "workers": growth_workers.measure,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this part."""
    parser.add_argument("--what", choices=[*WHAT, "all"], default="lanes", help="what is varied (lanes)")
    parser.add_argument("--queries", type=int, default=60, help="per row and round (60)")
    parser.add_argument("--rounds", type=int, default=3, help="how often they are asked (3)")
    parser.add_argument("--delay-ms", type=float, default=20.0, help="time a simulated search takes (20)")
    parser.add_argument("--picture", type=Path, help="an SVG file: growth against what is varied")


async def measure(options: argparse.Namespace) -> str:
    """The tables."""
    chosen = WHAT if options.what == "all" else (options.what,)
    found = [await WHAT[name](options) for name in chosen]
    if options.picture is not None:
        options.picture.write_text(picture(found), encoding="utf-8")
    return report(found)
