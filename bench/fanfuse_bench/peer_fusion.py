"""The same ranked lists fused by Fanfuse, ranx, LangChain and Haystack in turn, in one process that has all of them.

In: rounds on the command line. Out: one JSON object on standard output. Everybody is given lists in the shape of his
own library, made before the clock runs, and fuses one query: weighted reciprocal ranks where he has weights, k = 60
(Haystack fixes 61). Fanfuse also as its defaults are, with a page, and from hits that nobody read before: the fuser
reads a reply when it comes, while it waits for others. Run by `peers.py`, whose environment has the peers.
"""

import gc
import json
import logging
import math
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from fanfuse_contracts.enums import Kind
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.fusion import DEFAULT, fuse
from fanfuse_fuser.domain.ranked import RankedList

LANES: Final = 9
HITS: Final = 100
POOL: Final = 300
"""Chunks that the lanes draw from: each is found by three of them on average."""
QUERIES: Final = 20
WEIGHTS: Final = (0.3, 1.5, 0.5, 1.5, 1.0, 0.8, 1.0, 1.2, 1.8)
K: Final = 60

Lists = Sequence[Sequence[tuple[str, float]]]
Fuse = Callable[[], Sequence[tuple[str, float | None]]]
"""Ids, best first, with scores where the library gives any."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One library: how it makes its input, and what its scores must be."""

    build: Callable[[Lists], Fuse]
    k: int | None = K
    """None: min-max of the scores."""
    weighted: bool = True
    seats: bool = False
    """Places are given away by reserved seats: only scores are compared."""


def draw_lists(number: int) -> Lists:
    """Chunk ids with falling scores, per lane."""
    draw = random.Random(number)
    names = [f"handbook/chapter-{chunk}.md#{chunk % 7}" for chunk in range(POOL)]
    return [
        list(zip(draw.sample(names, HITS), sorted((draw.random() for _ in range(HITS)), reverse=True), strict=True))
        for _ in range(LANES)
    ]


def replies(lists: Lists) -> list[tuple[Lane, tuple[LaneHit, ...]]]:
    """Lanes with their hits, as replies bring them."""
    kinds = list(Kind)
    return [
        (
            Lane(
                name=f"l{at}", corpus="docs", kind=kinds[at % 3], backend="main", pool="main", weight=WEIGHTS[at],
                window=HITS, filter_digest="",
            ),
            tuple(
                LaneHit(chunk_id=chunk_id, rank=rank, score=score, content_hash="")
                for rank, (chunk_id, score) in enumerate(one, start=1)
            ),
        )
        for at, one in enumerate(lists)
    ]  # fmt: skip


PLAIN: Final = FusionConfig(policy=FusionPolicy.RRF, k=K, reserved_seats=0, collapse=False)
PAGE: Final = 10


def fanfuse(lists: Lists, config: FusionConfig = PLAIN) -> Fuse:
    """Every vote is kept for the explanation; the whole list is read out."""
    ranked = [RankedList(lane, hits) for lane, hits in replies(lists)]
    return lambda: fuse(ranked, config).scored()


def fanfuse_default(lists: Lists) -> Fuse:
    """Min-max, a reserved seat for each lane, copies collapsed."""
    return fanfuse(lists, DEFAULT)


def fanfuse_page(lists: Lists, config: FusionConfig = PLAIN) -> Fuse:
    """The same, and ten hits with the vote of each lane."""
    ranked = [RankedList(lane, hits) for lane, hits in replies(lists)]

    def fused() -> Sequence[tuple[str, float | None]]:
        found = fuse(ranked, config)
        return found.scored() if len(list(found[:PAGE])) == PAGE else ()

    return fused


def fanfuse_default_page(lists: Lists) -> Fuse:
    """The defaults, and ten hits with the vote of each lane."""
    return fanfuse_page(lists, DEFAULT)


def fanfuse_unread(lists: Lists) -> Fuse:
    """Reciprocal ranks, from parsed replies as they are."""
    found = replies(lists)
    return lambda: fuse([RankedList(lane, hits) for lane, hits in found], PLAIN).scored()


def ranx(lists: Lists) -> Fuse:
    """Compiled by numba; without weights."""
    from ranx import Run  # type: ignore[import-not-found]
    from ranx.fusion.rrf import rrf  # type: ignore[import-not-found]

    runs = [Run({"q": dict(one)}) for one in lists]
    return lambda: list(rrf(runs, k=K).run["q"].items())


def langchain(lists: Lists) -> Fuse:
    """Documents in order; scores are not given out."""
    from langchain_classic.retrievers import EnsembleRetriever  # type: ignore[import-not-found]
    from langchain_core.documents import Document  # type: ignore[import-not-found]
    from langchain_core.runnables import RunnableLambda  # type: ignore[import-not-found]

    documents = [[Document(page_content=chunk_id) for chunk_id, _ in one] for one in lists]
    retriever = EnsembleRetriever(retrievers=[RunnableLambda(str)] * LANES, weights=list(WEIGHTS), c=K)
    return lambda: [(one.page_content, None) for one in retriever.weighted_reciprocal_rank(documents)]


def haystack(lists: Lists) -> Fuse:
    """Weights are brought to a sum of one."""
    from haystack import Document  # type: ignore[import-not-found]
    from haystack.components.joiners import DocumentJoiner  # type: ignore[import-not-found]

    documents = [[Document(id=chunk_id, content="", score=score) for chunk_id, score in one] for one in lists]
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", weights=list(WEIGHTS))
    return lambda: [(one.id, one.score) for one in joiner.run(documents=documents)["documents"]]


FIELD: Final[Mapping[str, Contender]] = {
    "Fanfuse, rrf": Contender(fanfuse),
    "Fanfuse, rrf, and a page of ten with its votes": Contender(fanfuse_page),
    "Fanfuse, defaults (minmax, seats)": Contender(fanfuse_default, k=None, seats=True),
    "Fanfuse, defaults, and a page of ten with its votes": Contender(fanfuse_default_page, k=None, seats=True),
    "Fanfuse, rrf, from hits never read before": Contender(fanfuse_unread),
    "ranx": Contender(ranx, weighted=False),
    "LangChain EnsembleRetriever": Contender(langchain),
    "Haystack DocumentJoiner": Contender(haystack, k=61),
}


def reference(lists: Lists, one: Contender) -> dict[str, Fraction]:
    """Exact scores."""
    scores: dict[str, Fraction] = {}
    for at, found in enumerate(lists):
        weight = Fraction(WEIGHTS[at]) if one.weighted else Fraction(1)
        lowest, highest = Fraction(found[-1][1]), Fraction(found[0][1])
        for rank, (chunk_id, score) in enumerate(found, start=1):
            if one.k is None:
                value = weight * (1 + (HITS - 1) * (Fraction(score) - lowest) / (highest - lowest)) / HITS
            else:
                value = weight / (one.k + rank)
            scores[chunk_id] = scores.get(chunk_id, Fraction(0)) + value
    return scores


def errors(found: Sequence[tuple[str, float | None]], exact: Mapping[str, Fraction]) -> dict[str, Any]:
    """How far the list is from the exact one: wrong places, and the largest error of a score, in relation to it."""
    order = sorted(exact, key=lambda chunk_id: -exact[chunk_id])
    places = sum(exact[wanted] != exact[got] for wanted, (got, _) in zip(order, found, strict=True))
    scores = [(score, float(exact[name])) for name, score in found if score is not None]
    # Haystack divides by the largest possible score: what counts is the proportion to the best.
    top, best = float(exact[order[0]]), max((score for score, _ in scores), default=0.0)
    scale = top / best if scores and not math.isclose(best, top, rel_tol=1e-6) else 1.0
    worst = max((abs(score * scale - wanted) / wanted for score, wanted in scores), default=None)
    return {"places": places, "worst": worst}


def measure(rounds: int) -> dict[str, Any]:
    """All contenders in turn, query by query; nanoseconds of CPU and of the clock."""
    lists = [draw_lists(number) for number in range(QUERIES)]
    fuses = {name: [one.build(each) for each in lists] for name, one in FIELD.items()}
    told: dict[str, Any] = {}
    for name, one in FIELD.items():
        wrong = [errors(fused(), reference(lists[at], one)) for at, fused in enumerate(fuses[name])]
        worst = [row["worst"] for row in wrong if row["worst"] is not None]
        told[name] = {
            "cpu_ns": [], "wall_ns": [], "places": None if one.seats else sum(row["places"] for row in wrong),
            "worst": max(worst) if worst else None,
        }  # fmt: skip
    gc.freeze()
    for number in range(rounds):
        for name in FIELD:
            gc.collect()  # nobody pays for what another one left behind, nor for memory that was given back
            fuses[name][(number + 1) % QUERIES]()
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            fuses[name][number % QUERIES]()
            told[name]["cpu_ns"].append(time.process_time_ns() - cpu)
            told[name]["wall_ns"].append(time.perf_counter_ns() - wall)
    return told


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    json.dump(measure(int(sys.argv[1])), sys.stdout)
