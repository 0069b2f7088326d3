"""Quality through the flow as Markdown: lists and judgements in, text out."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from fanfuse_bench.figures import table
from fanfuse_bench.quality import Asked, Measured, metaqa_by_hops, musique_200, scifact
from fanfuse_contracts.enums import Kind
from fanfuse_evaluation.bootstrap import interval
from fanfuse_evaluation.measures import Values, ndcg, recall

_HEADER: Final = ("value", "fused less it, 95 % interval")


_PARTS: Final = ("scifact", "musique", "metaqa")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which collections, and how many questions of the largest."""
    parser.add_argument("--sets", nargs="+", choices=_PARTS, default=_PARTS, help="collections (all three)")
    parser.add_argument("--metaqa-step", type=int, default=8, help="every how many-th question of metaqa (8; 1: all)")


async def measure(options: argparse.Namespace) -> str:
    """The tables of the chosen collections, one after the other."""
    shown = []
    if "scifact" in options.sets:
        shown.append(hybrid_table(await scifact()))
    if "musique" in options.sets:
        shown.append(graph_gain_table(await musique_200()))
    if "metaqa" in options.sets:
        shown.append(hops_table(await metaqa_by_hops(options.metaqa_step)))
    return "\n\n".join(shown)


def hybrid_table(measured: Measured) -> str:
    """nDCG@10 of each lane and of the answer, and how far the answer is above each lane."""
    asked = measured.runs["hybrid"]
    fused = ndcg(measured.grades, asked.of_answer(measured.keys))
    rows: list[tuple[object, ...]] = [
        (kind.value, *_against(ndcg(measured.grades, asked.of_lane(kind, measured.keys)), fused))
        for kind in (Kind.KEYWORD, Kind.VECTOR)
    ]
    rows.append(("fused", f"{fused.mean():.4f}", ""))
    return _titled(measured, "nDCG@10", table(("scifact, nDCG@10", *_HEADER), rows))


def graph_gain_table(measured: Measured) -> str:
    """recall@10 of the answer without a graph lane and with one."""
    values = {
        name: recall(measured.grades, asked.of_answer(measured.keys), 10) for name, asked in measured.runs.items()
    }
    without = values["without graph"]
    rows = [
        (name, f"{one.mean():.3f}", "" if one is without else _interval(*interval(without, one)))
        for name, one in values.items()
    ]
    shown = table(("musique-200, recall@10", "value", "gain over the first, 95 % interval"), rows)
    return _titled(measured, "recall@10", shown)


def hops_table(measured: Measured) -> str:
    """Of the graph lane and of BM25, by hops: the first letter of a question's id."""
    asked = measured.runs["graph"]
    graph, keyword = (asked.of_lane(kind, measured.keys) for kind in (Kind.GRAPH, Kind.KEYWORD))
    columns: Mapping[str, Values] = {
        "graph lane, recall@100": recall(measured.grades, graph, 100),
        "graph lane, nDCG@10": ndcg(measured.grades, graph),
        "keyword lane (BM25), nDCG@10": ndcg(measured.grades, keyword),
        "fused, recall@100": recall(measured.grades, asked.of_answer(measured.keys), 100),
    }
    hops = np.array([key[0] for key in measured.keys])
    rows = [(name, *(f"{values[hops == hop].mean():.3f}" for hop in "123")) for name, values in columns.items()]
    return _titled(measured, "recall", table(("metaqa", "1 hop", "2 hops", "3 hops"), rows))


def _titled(measured: Measured, metric: str, shown: str) -> str:
    lines = [f"{measured.collection.name}: {len(measured.keys)} questions, {metric}.", "", shown, ""]
    lines += [f"- {name}: {_fates(asked)}" for name, asked in measured.runs.items()]
    return "\n".join(lines)


def _fates(asked: Asked) -> str:
    lanes = [f"{kind.value} lanes {_counted(outcomes)}" for kind, outcomes in sorted(asked.outcomes.items())]
    return "; ".join([f"answers {_counted(asked.statuses)}", *lanes])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def _against(lane: Values, fused: Values) -> Sequence[str]:
    return f"{lane.mean():.4f}", _interval(*interval(lane, fused), digits=4)


def _interval(mean: float, low: float, high: float, digits: int = 3) -> str:
    return f"{mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"
