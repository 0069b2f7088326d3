"""How good the peers' fusion is on the lists that a flow fused, beside its answers.

In: a file of `fanfuse eval --save-lanes`. Out: the report of `fanfuse eval` with a row per peer: the same measures, the
same questions, paired intervals.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fanfuse_bench.peer_environment import peers_python
from fanfuse_bench.runs import say
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_evaluation.figures import CollectionFigures, Ranked, Role, figures_of
from fanfuse_evaluation.files import write_report
from fanfuse_evaluation.lane_lists import AnsweredHit, AskedQuery, load
from fanfuse_evaluation.offline import document_list
from fanfuse_evaluation.report import markdown
from fanfuse_evaluation.summary import summarise

_HERE: Final = Path(__file__).resolve().parents[1]
_PLAIN: Final = (FusionConfig(policy=FusionPolicy.RRF, reserved_seats=0),)
_TITLE: Final = "Fusion of the same lists"
Fused = Mapping[str, Sequence[Sequence[str]]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `peer-quality`."""
    parser.add_argument("lanes", type=Path, help="a file that `fanfuse eval --save-lanes` wrote")
    parser.add_argument("--report", type=Path, help="a folder for report.md and report.html")
    parser.add_argument("--environment", type=Path, help="folder of the peers' environment (one among temporary files)")


def measure(options: argparse.Namespace) -> str:
    """Let everybody fuse, and judge."""
    records = load(options.lanes)
    fused = _fused(peers_python(options.environment), options.lanes)
    figures = with_peers(figures_of(records, _PLAIN), records, fused)
    summary, how = summarise(figures), [f"lists of {options.lanes.name}; peers with equal weights, their default"]
    if options.report is not None:
        write_report(options.report, figures, summary, _TITLE, how)
    return markdown(figures, summary, _TITLE, how)


def with_peers(
    figures: Sequence[CollectionFigures], records: Sequence[AskedQuery], fused: Fused
) -> list[CollectionFigures]:
    """The same figures with a row per peer. `fused`: chunk ids per record."""
    return [replace(one, ranked=(*one.ranked, *_rows(one.name, records, fused))) for one in figures]


def _rows(collection: str, records: Sequence[AskedQuery], fused: Fused) -> list[Ranked]:
    return [
        Ranked(
            name,
            Role.RUN,
            tuple(
                _documents(one, ids) for one, ids in zip(records, lists, strict=True) if one.collection == collection
            ),
        )
        for name, lists in fused.items()
    ]


def _documents(asked: AskedQuery, ids: Sequence[str]) -> list[str]:
    hits = [AnsweredHit(corpus=asked.collection, chunk_id=one, score=0.0) for one in ids[: asked.top_k]]
    return document_list(asked, hits)


def _fused(python: Path, lanes: Path) -> Fused:
    say("fusing by LangChain, Haystack and LlamaIndex")
    done = subprocess.run(
        [python, "-W", "ignore", "-m", "fanfuse_bench.peer_lists", str(lanes.resolve())],
        check=True, stdout=subprocess.PIPE, stderr=sys.stderr, cwd=_HERE,
    )  # fmt: skip
    fused: Fused = json.loads(done.stdout)
    return fused
