"""What one routing decision costs: shape, rules and scores, then the plan. One thread, no bus, no engine.

In: how many corpora a tenant has and how many decisions to make. Out: times per decision. Nothing is read from files:
corpora, rules and texts are the same in every run. The collector is set as in a process that is ready, and the snapshot
of backends is taken for each decision, as the router does. Messages are neither written nor parsed. Beside each
decision a fixed piece of plain Python is timed: the ratio says what a decision costs, whatever the host does meanwhile.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from operator import itemgetter
from typing import Final

from fanfuse_bench.figures import quantile, table
from fanfuse_classifier.domain.classify import Classification, Classifiers, classify
from fanfuse_classifier.service import build_classifiers
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.filters import Op
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_corpus_router.adapters.snapshot import Snapshots
from fanfuse_corpus_router.domain.planning import PlannedQuery, Planner
from fanfuse_runtime.collector import SettledCollector
from fanfuse_runtime.pools import PoolLook

TENANT = "bench"
SIZES = (1, 10, 100)
STRATEGIES = ("learned", "static_rules", "all")
"""What an operator gets by default; rules alone, else every corpus; every corpus, the most that a query can cost: 32
corpora in 64 lanes."""
_YARDSTICK_ROWS = 200
_WARM = 200
_TERMS_PER_CORPUS = 40
_SYLLABLES = ("ka", "lo", "mi", "nu", "ra", "se", "ti", "vo", "ze", "pu")
_TEXTS = (
    "What is the refund period for {0}?",
    "{0} {1} 2024 report",
    "Alice Smith and Acme Corp about {0}",
    "How do {0} and {1} differ, and since when?",
    "error TRAVEL-2026-01 in {0} after the upgrade to 4.2.1",
    '"{0} {1}" policy of Acme Corp in Spain',
    "{0} 中取消行程的退票费如何处理",
    "steps to move {0} from one account to another without losing the history of {1}",
)
_NOW_S = 1_790_000_000.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What one decision selected, and its nanoseconds: by the clock, CPU of its two parts, and of the yardstick."""

    selected: int
    lanes: int
    wall_ns: int
    classify_ns: int
    plan_ns: int
    yardstick_ns: int


@dataclass(frozen=True, slots=True)
class Timed:
    """Decisions over so many corpora under one strategy."""

    corpora: int
    strategy: str
    decisions: tuple[Decision, ...]


def measure_all(decisions: int) -> list[Timed]:
    """Every size under every strategy."""
    return [measure(corpora, strategy, decisions, _WARM) for strategy in STRATEGIES for corpora in SIZES]


def measure(corpora: int, strategy: str, decisions: int, warm: int) -> Timed:
    """Decide `decisions` queries after `warm` others, each of another text."""
    config = FanfuseConfig.model_validate({"retrieval": {"routing": {"strategy": strategy, "rules": _rules(corpora)}}})
    classifiers = build_classifiers(config, ClassifierSettings())
    cards = tuple(_card(number) for number in range(corpora))
    snapshots = Snapshots(_ALL_IS_WELL, _ALL_IS_WELL)
    planner = Planner(config.retrieval)
    queries = list(_queries(corpora, warm + decisions))
    for query in queries[:warm]:
        _decide(query, cards, classifiers, snapshots, planner)
    collector = SettledCollector()
    collector.settle()
    try:
        rows = [_decide(query, cards, classifiers, snapshots, planner) for query in queries[warm:]]
    finally:
        collector.release()
    return Timed(corpora, strategy, tuple(rows))


class _AllIsWell:
    """Backends and pools as the router sees them when nothing is the matter."""

    unhealthy: frozenset[tuple[Kind, str]] = frozenset()
    revision = 0

    def look(self, kind: Kind, pool: str) -> PoolLook:
        """Workers that are there and not pressed."""
        return PoolLook()


_ALL_IS_WELL: Final = _AllIsWell()


def _decide(
    query: AcceptedQuery,
    cards: tuple[CorpusCard, ...],
    classifiers: Classifiers,
    snapshots: Snapshots,
    planner: Planner,
) -> Decision:
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    found = classify(query, TENANT, cards, classifiers)
    assert isinstance(found, Classification), found
    event = QueryClassified(
        tenant=TENANT,
        query_id="q1",
        query=query,
        submitted_ns=1,
        classification=found.shape,
        corpus_scores=found.corpus_scores,
    )
    between = time.thread_time_ns()
    facts = snapshots.take(TENANT, cards)
    planned = planner.plan(event, cards, facts, _NOW_S)
    ended, wall_ended = time.thread_time_ns(), time.perf_counter_ns()
    assert isinstance(planned, PlannedQuery), planned
    selected = len(planned.plan.corpus_decision.selected_corpora)
    lanes = len(planned.plan.lanes)
    return Decision(selected, lanes, wall_ended - wall, between - cpu, ended - between, _yardstick_ns())


def _yardstick_ns() -> int:
    """What the host takes just now for rows that are built, sorted and written."""
    started = time.thread_time_ns()
    rows = [{"name": f"lane{n}", "kind": str(n % 3), "weight": n * 7 % 31 / 7} for n in range(_YARDSTICK_ROWS)]
    rows.sort(key=itemgetter("weight"))
    json.dumps(rows)
    return time.thread_time_ns() - started


def _word(number: int) -> str:
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:04}")


def _card(number: int) -> CorpusCard:
    """A corpus on one backend of each kind; neighbours share half of their terms."""
    first = number * _TERMS_PER_CORPUS // 2
    return CorpusCard(
        tenant=TENANT,
        corpus=f"corpus{number:03}",
        public=True,
        backends=tuple(Wiring(kind=kind, backend="main", pool="main", operators=frozenset(Op)) for kind in Kind),
        embedder=EmbedderSpec(model="bench", dimensions=384),
        fields={"lang": FieldType.STRING, "year": FieldType.INTEGER},
        term_weights={_word(first + place): 1.0 + place / 50 for place in range(_TERMS_PER_CORPUS)},
    )


def _rules(corpora: int) -> list[Mapping[str, object]]:
    """One boost per two corpora, some by expression, and an exclusion."""
    boosts: list[Mapping[str, object]] = [
        {"name": f"boost{number}", "corpora": [f"corpus{number:03}"], "match_any": [_word(number * 20 + 7), "upgrade"]}
        | ({"match_regex": r"\bCVE-\d{4}-\d+\b"} if number % 10 == 0 else {})
        for number in range(0, corpora, 2)
    ]
    shut = {"name": "shut", "corpora": ["corpus001"], "effect": "exclude", "match_any": ["history"]}
    return [*boosts, shut]


def _queries(corpora: int, count: int) -> Iterator[AcceptedQuery]:
    for number, text in enumerate(islice(cycle(_TEXTS), count)):
        words = (_word(number * step % (corpora * _TERMS_PER_CORPUS // 2)) for step in (7, 11))
        yield AcceptedQuery(text=text.format(*words))


def report(timed: Sequence[Timed]) -> str:
    """Times in milliseconds, as Markdown."""
    header = (
        "corpora", "strategy", "selected", "lanes", "decision p50 / p95 ms", "CPU p50 / p95 ms",
        "of it classify p50 / p95", "of it plan p50 / p95", "yardstick p50 ms", "decisions p50 in yardsticks",
    )  # fmt: skip
    return table(header, [_row(one) for one in timed])


def _row(one: Timed) -> Sequence[object]:
    rows = one.decisions
    cpu = [row.classify_ns + row.plan_ns for row in rows]
    yardstick = quantile([row.yardstick_ns for row in rows], 0.5)
    return (
        one.corpora,
        one.strategy,
        quantile([row.selected for row in rows], 0.5),
        quantile([row.lanes for row in rows], 0.5),
        _ms([row.wall_ns for row in rows]),
        _ms(cpu),
        _ms([row.classify_ns for row in rows]),
        _ms([row.plan_ns for row in rows]),
        f"{yardstick / 1e6:.3f}",
        f"{quantile(cpu, 0.5) / yardstick:.2f}",
    )


def _ms(values: Sequence[int]) -> str:
    """Median and 95th percentile."""
    return f"{quantile(values, 0.5) / 1e6:.3f} / {quantile(values, 0.95) / 1e6:.3f}"
