"""An answer as text: nothing of it is lost, nothing is read as markup."""

from io import StringIO

import pytest
from rich.console import Console

from fanfuse_cli.answers import render_answer
from fanfuse_contracts.answer import Answer, AnswerHit, Contribution, Coverage, LaneReport
from fanfuse_contracts.enums import (
    FailureKind,
    FallbackReason,
    Kind,
    LaneOutcome,
    RejectionCode,
    Shape,
    Stage,
    Status,
    Strategy,
)
from fanfuse_contracts.plan import CorpusRoutingDecision, Rejection
from fanfuse_contracts.query import Hop

HIT = AnswerHit(
    rank=1,
    corpus="docs",
    chunk_id="c1",
    score=0.016393,
    title="[bold]Not markup[/bold] " + "long " * 40,
    contributions=(Contribution(lane="l1", kind=Kind.KEYWORD, backend="main", rank=1, weight=1.0, value=1 / 61),),
)
LANES = (
    LaneReport(lane="l1", corpus="docs", kind=Kind.KEYWORD, backend="main", outcome=LaneOutcome.ANSWERED, elapsed_ms=2),
    LaneReport(
        lane="l2",
        corpus="docs",
        kind=Kind.VECTOR,
        backend="main",
        outcome=LaneOutcome.FAILED,
        failure=FailureKind.TIMEOUT,
        reason="no reply within the budget",
    ),
)
PARTIAL = Answer(
    tenant="acme",
    query_id="q1",
    status=Status.PARTIAL,
    hits=(HIT,),
    coverage=Coverage(expected=2, lanes=LANES),
    bm25_fallback=True,
    bm25_fallback_corpora=("docs",),
    bm25_fallback_reasons=(FallbackReason.TIMEOUT,),
    shape=Shape.SEMANTIC,
    total=7,
    hops=(Hop(stage=Stage.FUSER, at_ms=12.5, took_ms=3.25),),
)


def shown(answer: Answer, *, trace: bool = False) -> str:
    console = Console(file=StringIO(), width=140)
    console.print(render_answer(answer, trace=trace))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_rank_score_corpus_title_and_contributions_are_all_visible_beside_a_long_title():
    text = shown(PARTIAL)

    row = next(line for line in text.splitlines() if "docs" in line and "0.016393" in line)
    assert row.split()[0] == "1"
    assert "[bold]Not markup[/bold]" in row
    assert "keyword #1 0.016393" in row


@pytest.mark.parametrize(("strategy", "said"), [(Strategy.EXPLICIT, True), (Strategy.LEARNED, False)])
def test_what_a_pin_did_not_find_is_said(strategy: Strategy, said: bool) -> None:
    reason = "pinned by the caller; unknown corpus 'nosuch'"
    decision = CorpusRoutingDecision(
        strategy=strategy, selected_corpora=("docs",), scores=(), fan_out=True, candidate_n=1, reason=reason
    )
    assert (f"  {reason}\n" in shown(PARTIAL.model_copy(update={"corpus_decision": decision}))) is said


def test_what_is_missing_is_said():
    text = shown(PARTIAL)

    assert "partial" in text
    assert "1 of 7 hits" in text
    assert "2 lanes asked; 1 answered, 1 failed" in text
    assert "failed docs vector/main: timeout: no reply within the budget" in text
    assert "bm25_fallback: True (docs: timeout)" in text


def test_trace_adds_hops_and_lane_timings():
    assert "hops" not in shown(PARTIAL)
    traced = shown(PARTIAL, trace=True)

    assert "fuser" in traced
    assert "12.50" in traced
    assert "3.25" in traced


@pytest.mark.parametrize("code", list(RejectionCode))
def test_a_refusal_says_what_is_wrong(code):
    rejection = Rejection(code=code, message="the [reason]", retryable=True)
    answer = PARTIAL.model_copy(
        update={"status": Status.REJECTED, "hits": (), "coverage": Coverage(expected=0), "rejection": rejection}
    )
    text = shown(answer)

    assert f"{code.value}: the [reason]; asking again may help" in text
