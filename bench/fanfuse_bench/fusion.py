"""Every fusion policy on the same lists of real queries: quality, what becomes of lone first hits, and time.

In: judged questions with their lanes' lists. Out: nDCG@10 with paired bootstrap intervals against plain RRF, the share
of exclusive first hits (first in one lane, in no other lane's first ten) that are in the fused first ten, and CPU per
fusion of nine lanes of a hundred hits.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fanfuse_bench.figures import quantile
from fanfuse_bench.fusion_questions import SETS, Question, QuestionSet, federated, one_corpus
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_evaluation.measures import ndcg
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_testing.collections import shared_folder

TOP: Final = 10
_SEED: Final = 5


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to fuse."""

    name: str
    config: FusionConfig


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of exclusive first hits."""

    exclusive: int
    kept: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant on one set: nDCG@10 per question, and what became of exclusive first hits."""

    variant: Variant
    ndcg: NDArray[np.float64]
    fate: Fate


@dataclass(frozen=True, slots=True)
class SetFigures:
    """One set under every variant; the first variant is what the others are compared with."""

    name: str
    singles: dict[str, float]
    """Mean nDCG@10 of the lists themselves: of each kind, and of one merged index."""
    rows: tuple[Measured, ...]
    merged: NDArray[np.float64] | None = None
    """nDCG@10 per question of one index over every corpus, where there are several."""


def variants() -> Iterator[Variant]:
    """Plain RRF first; then every policy with none, one and two reserved seats."""
    for policy, k in (
        (FusionPolicy.RRF, 60),
        (FusionPolicy.RRF, 10),
        (FusionPolicy.RRF_RANK, 60),
        (FusionPolicy.RRF_RANK, 10),
    ):
        for seats in (0, 1, 2):
            yield Variant(f"{policy.value}, k {k}, {seats}", FusionConfig(policy=policy, k=k, reserved_seats=seats))
    for seats in (0, 1, 2):
        config = FusionConfig(policy=FusionPolicy.MINMAX, reserved_seats=seats)
        yield Variant(f"minmax, {seats}", config)


def measure_all() -> Iterator[SetFigures]:
    """Every set, one after the other. Raises `MissingDataError` where the evaluation data is absent."""
    shared = shared_folder()
    for name in SETS:
        yield measure(one_corpus(name, shared))
    for hybrid in (False, True):
        yield measure(federated(shared, hybrid=hybrid))


def measure(asked: QuestionSet) -> SetFigures:
    """One set under every variant."""
    singles = {kind.value: _mean_of_kind(asked.questions, kind) for kind in (Kind.KEYWORD, Kind.VECTOR)}
    merged = None
    if asked.merged:
        merged = _ndcg(asked.questions, [[chunk_id for chunk_id, _ in found[:TOP]] for found in asked.merged])
        singles["one merged index"] = float(merged.mean())
    return SetFigures(asked.name, singles, tuple(_measured(one, asked.questions) for one in variants()), merged)


def _measured(variant: Variant, questions: Sequence[Question]) -> Measured:
    tops = [[row.chunk_id for row in fuse(one.lists, variant.config)[:TOP]] for one in questions]
    return Measured(variant, _ndcg(questions, tops), fate_of_firsts(questions, tops))


def fate_of_firsts(questions: Sequence[Question], tops: Sequence[Sequence[str]]) -> Fate:
    """Exclusive first hits in all lists, and those of them in the fused first ten."""
    pairs = [(first, top) for one, top in zip(questions, tops, strict=True) for first in _exclusive(one.lists)]
    return Fate(len(pairs), sum(first in top for first, top in pairs))


def _exclusive(lists: Sequence[RankedList]) -> Iterator[str]:
    if len(lists) < 2:
        return
    tops = [{hit.chunk_id for hit in one.hits[:TOP]} for one in lists]
    for at, one in enumerate(lists):
        first = one.hits[0].chunk_id
        if not any(first in top for other, top in enumerate(tops) if other != at):
            yield first


def _mean_of_kind(questions: Sequence[Question], kind: Kind) -> float:
    """Of the first list of a kind, which is that of the best corpus."""
    firsts = [next((one.hits for one in asked.lists if one.lane.kind is kind), ()) for asked in questions]
    return float(_ndcg(questions, [[hit.chunk_id for hit in hits[:TOP]] for hits in firsts]).mean())


def _ndcg(questions: Sequence[Question], tops: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    return ndcg([one.grades for one in questions], tops, TOP)


def cpu_us(config: FusionConfig, rounds: int) -> float:
    """p50 of the CPU of one fusion of nine lanes × 100 hits in three corpora, with its first ten, in microseconds."""
    lists, taken = _nine_lanes(), []
    for _ in range(rounds):
        started = time.thread_time_ns()
        list(fuse(lists, config)[:TOP])
        taken.append((time.thread_time_ns() - started) / 1e3)
    return quantile(taken, 0.5)


def _nine_lanes() -> list[RankedList]:
    """Some content is in all three corpora."""
    chance = Random(_SEED)
    return [
        RankedList(
            Lane(
                name=f"l{number}",
                corpus=f"corpus{number // 3}",
                kind=Kind.VECTOR,
                backend="main",
                pool="main",
                weight=chance.choice((0.3, 0.5, 0.8, 1.0, 1.5)),
                window=100,
                filter_digest="",
            ),
            [_hit(chunk, rank, number // 3) for rank, chunk in enumerate(chance.sample(range(300), 100), 1)],
        )
        for number in range(9)
    ]


def _hit(chunk: int, rank: int, corpus: int) -> LaneHit:
    content_hash = f"{chunk:016}" if chunk % 10 == 0 else f"{corpus}{chunk:015}"
    return LaneHit(chunk_id=f"c{chunk}", rank=rank, score=1.0 / rank, content_hash=content_hash)
