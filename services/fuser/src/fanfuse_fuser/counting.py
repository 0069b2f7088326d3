"""Counts one stored answer: its lanes, its corpora, and whether it fell back on keyword search.

In: an answer. Effect: counters. Each answer counts once, whichever fuser made it.
"""

from collections import Counter
from operator import attrgetter
from typing import Final

from fanfuse_contracts import metrics
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.metrics import corpus_name
from fanfuse_fuser.domain.coverage import lost_lanes
from fanfuse_runtime.metrics import Metrics

_ended: Final = attrgetter("kind", "backend", "outcome")


def count_answer(counters: Metrics, answer: Answer) -> None:
    """Count it."""
    coverage = answer.coverage
    for (kind, backend, outcome), lanes in Counter(map(_ended, coverage.lanes)).items():
        counters.inc(metrics.JOIN_LANES, lanes, kind=kind.value, backend=backend, outcome=outcome.value)
    for report in coverage.lanes:
        if report.shed:
            counters.inc(metrics.SHED_LANES_TOTAL, kind=report.kind.value, backend=report.backend)
    if coverage.rejected_replies:
        counters.inc(metrics.REFUSED_REPLIES_TOTAL, coverage.rejected_replies)
    # Once per answer, whatever the number of reasons, so that the rate is a share of all answers.
    for reason in answer.bm25_fallback_reasons[:1]:
        tenant_class = counters.class_of(answer.tenant)
        counters.inc(metrics.BM25_FALLBACK_TOTAL, reason=reason.value, tenant_class=tenant_class)
    _count_corpora(counters, answer)


def _count_corpora(counters: Metrics, answer: Answer) -> None:
    lost = lost_lanes(answer.coverage.lanes)
    for decision in answer.decisions:
        outcome = "lost" if decision.corpus in lost else "answered"
        if decision.corpus in answer.bm25_fallback_corpora:
            outcome = "bm25_fallback"
        corpus = corpus_name(answer.tenant, decision.corpus)
        counters.inc(metrics.CORPUS_ANSWERS_TOTAL, corpus=corpus, outcome=outcome)
