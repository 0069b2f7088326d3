"""`fanfuse explain` as people, programs and eyes read it: every fact of an answer, and what can't be known."""

import json
import re
from io import StringIO
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from rich.console import Console

from fanfuse_all_in_one.explanation import Explanation
from fanfuse_all_in_one.explanation import explain as explained
from fanfuse_all_in_one.timeline_svg import draw_timeline
from fanfuse_cli.explaining import render_explanation, title_of
from fanfuse_contracts.answer import Answer, AnswerHit, Contribution, Copy, Coverage, LaneReport
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
    UnconfirmedReason,
)
from fanfuse_contracts.fusion import FusionApplied, FusionPolicy
from fanfuse_contracts.operations import RouteAudited
from fanfuse_contracts.plan import (
    Clarification,
    CorpusCandidate,
    CorpusRoutingDecision,
    Lane,
    MissingArgument,
    Plan,
    Rejection,
    RoutingDecision,
    Unconfirmed,
)
from fanfuse_contracts.query import Hop
from fanfuse_contracts.weights import Weights

S = 1_000_000_000
NS = 1_800_000_000 * S
SECRET = "the text of a chunk"

DECISION = CorpusRoutingDecision(
    strategy=Strategy.STATIC_RULES,
    selected_corpora=("docs", "wiki"),
    scores=(
        CorpusCandidate(
            corpus="docs", score=2.5, probability=0.75, selected=True, reason="[rule] won", boosted_by=("hr",)
        ),
        CorpusCandidate(corpus="old", score=0.0, probability=0.05, selected=False, reason="no", excluded_by=("aged",)),
    ),
    fan_out=False,
    candidate_n=3,
    reason="a rule fired",
)
ROUTED = RoutingDecision(
    corpus="docs",
    shape=Shape.SEMANTIC,
    use_vector=True,
    use_keyword=True,
    use_graph=False,
    weights=Weights(vector=1.5, keyword=1.0, graph=0.8),
    degraded_backends=("graph/main",),
    bm25_fallback=False,
    reason="semantic",
)
PARTS = (
    Contribution(lane="l1", kind=Kind.KEYWORD, backend="main", rank=1, weight=1.0, value=1 / 61, score=12.5),
    Contribution(lane="l2", kind=Kind.VECTOR, backend="main", rank=3, weight=1.5, value=1.5 / 63),
)
HIT = AnswerHit(
    rank=1,
    corpus="docs",
    chunk_id="c1",
    score=1 / 61 + 1.5 / 63,
    title="[b]Leave[/b]",
    text=SECRET,
    contributions=PARTS,
    also_in=(Copy(corpus="faq", chunk_id="c7"),),
    reserved_by="l1",
)


def lane(name: str | None, kind: Kind, outcome: LaneOutcome, **fields: object) -> LaneReport:
    stated = {"lane": name, "corpus": "docs", "kind": kind, "backend": "main", "outcome": outcome} | fields
    return LaneReport.model_validate(stated)


LANES = (
    lane("l1", Kind.KEYWORD, LaneOutcome.ANSWERED, elapsed_ms=2.0, waited_ms=5.0, hits=4, weight=1.0),
    lane(
        "l2", Kind.VECTOR, LaneOutcome.ANSWERED, elapsed_ms=9.0, waited_ms=0.0, corpus="_all", corpora=("docs", "wiki")
    ),
    lane("l3", Kind.GRAPH, LaneOutcome.FAILED, failure=FailureKind.TIMEOUT, reason="no reply within the budget"),
    lane(None, Kind.GRAPH, LaneOutcome.SKIPPED_UNHEALTHY, reason="degraded", corpus="wiki"),
    lane("l5", Kind.GRAPH, LaneOutcome.LATE, corpus="faq", waited_ms=31.0, reason="after the hits were fused"),
)
HOPS = (
    Hop(stage=Stage.CLASSIFIER, at_ms=3.0, took_ms=1.0),
    Hop(stage=Stage.CORPUS_ROUTER, at_ms=8.0, took_ms=2.0),
    Hop(stage=Stage.FUSER, at_ms=40.0, took_ms=30.0),
)
PARTIAL = Answer(
    tenant="acme",
    query_id="q1",
    status=Status.PARTIAL,
    hits=(HIT,),
    coverage=Coverage(expected=4, lanes=LANES, rejected_replies=2),
    fusion=FusionApplied(policy=FusionPolicy.RRF, k=60, reserved_seats=1),
    bm25_fallback=True,
    bm25_fallback_corpora=("docs",),
    bm25_fallback_reasons=(FallbackReason.TIMEOUT,),
    shape=Shape.SEMANTIC,
    corpus_decision=DECISION,
    decisions=(ROUTED,),
    unconfirmed=(Unconfirmed(corpus="wiki", reason=UnconfirmedReason.STALE, message="older than a day"),),
    total=7,
    missing_texts=("c9",),
    submitted_ns=NS,
    elapsed_ms=40.0,
    hops=HOPS,
)
PLANNED = Lane(
    name="l1", corpus="docs", kind=Kind.KEYWORD, backend="main", pool="eu", weight=1.0, window=77, filter_digest=""
)
AUDITED = RouteAudited(
    tenant="acme",
    query_id="q1",
    principal="anna",
    plan=Plan(shape=Shape.SEMANTIC, lanes=(PLANNED,), skipped=(), corpus_decision=DECISION, decisions=(ROUTED,)),
    fired=("hr", "aged"),
    submitted_ns=NS,
)


def of(answer: Answer, audited: RouteAudited | None = AUDITED) -> Explanation:
    return explained(answer, NS + S, audited)


def shown(found: Explanation) -> str:
    console = Console(file=StringIO(), width=180)
    console.print(render_explanation(found))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    "part",
    [
        "q1 of acme: partial · 1 of 7 hits · 40.0 ms · shape semantic",
        "principal anna · fired hr, aged",
        "corpora: static_rules of 3 (a rule fired)",
        "[rule] won",
        "weights v=1.50 k=1.00 g=0.80",
        "docs+wiki vector/main",
        "fused by rrf, k 60; reserved seats per lane: 1; copies in one hit",
        "#1 docs c1: [b]Leave[/b] · also in faq c7 · lifted by the reserved seat of l1",
        "12.5",
        f"{1 / 61 + 1.5 / 63!r} = score",
        "missing docs graph/main (failed): timeout: no reply within the budget",
        "missing wiki graph/main (skipped_unhealthy): degraded",
        "missing faq graph/main (late): after the hits were fused",
        "missing wiki (unconfirmed: stale): older than a day",
        "missing text of c9",
        "missing replies (not fused): 2",
        "bm25_fallback: True (docs: timeout)",
    ],
)
def test_the_tables_hold_every_fact(part):
    assert part in shown(of(PARTIAL))


def test_pool_and_window_come_from_the_audit():
    row = next(line for line in shown(of(PARTIAL)).splitlines() if line.startswith("l1 ") and "77" in line)

    assert "eu" in row


def test_a_contribution_that_does_not_come_out_again_is_said():
    found = of(PARTIAL)
    assert [part.recomputed == part.value for part in found.hits[0].contributions] == [True, True]
    assert shown(found).count("= value") == 2

    wrong = HIT.model_copy(update={"contributions": (PARTS[0].model_copy(update={"value": 0.5}), PARTS[1])})
    assert f"≠ value: {1 / 61!r}" in shown(of(PARTIAL.model_copy(update={"hits": (wrong,)})))
    older = PARTIAL.model_copy(update={"fusion": None})
    assert of(older).hits[0].contributions[0].recomputed is None
    assert "not known" in shown(of(older))


def test_a_sum_that_is_not_the_score_is_said():
    wrong = HIT.model_copy(update={"score": 0.5})
    found = of(PARTIAL.model_copy(update={"hits": (wrong,)}))

    assert found.hits[0].sum_is_score is False
    assert "≠ score 0.5" in shown(found)


def test_without_the_audit_it_says_what_it_cant_show():
    found = of(PARTIAL, None)

    assert found.audited is False
    assert "cannot show the audited decision" in shown(found)
    assert "pools, windows, the principal" in shown(found)
    assert "static_rules" in shown(found)


def test_json_is_one_line_that_reads_back_and_holds_no_text_of_a_chunk():
    data = of(PARTIAL).to_json()

    assert SECRET not in data.decode()
    assert SECRET not in shown(of(PARTIAL))
    assert Explanation.from_json(data) == of(PARTIAL)
    assert json.loads(data)["hits"][0]["sum_is_score"] is True


def test_clarify_says_what_is_missing_and_shows_no_lane():
    missing = MissingArgument(corpus="docs", capability="orders", argument="number", description="the order's number")
    clarification = Clarification(message="which order?", missing=(missing,))
    answer = Answer(
        tenant="acme",
        query_id="q2",
        status=Status.CLARIFY,
        coverage=Coverage(expected=0),
        clarification=clarification,
        submitted_ns=NS,
        elapsed_ms=4.0,
    )
    text = shown(of(answer, AUDITED.model_copy(update={"plan": None, "clarification": clarification})))

    assert "clarify: which order?" in text
    assert "missing number for docs/orders" in text
    assert "lanes" not in text
    assert "cannot show when each stage was done" in text


def test_a_refusal_takes_the_decision_from_the_audit_where_the_answer_has_none():
    answer = Answer(
        tenant="acme",
        query_id="q3",
        status=Status.FAILED,
        coverage=Coverage(expected=0),
        rejection=Rejection(code=RejectionCode.INTERNAL, message="the [fuser] could not", retryable=True),
    )
    found = of(answer)
    text = shown(found)

    assert found.corpus_decision == DECISION
    assert "refused internal: the [fuser] could not; asking again may help" in text
    assert "submitted unknown" in text
    assert [bar.row for bar in found.timeline] == ["answer"]


def test_the_timeline_puts_stages_and_lanes_on_one_axis():
    bars = of(PARTIAL).timeline

    assert [(bar.name, bar.from_ms, bar.to_ms, bar.exact) for bar in bars] == [
        ("classifier", 2.0, 3.0, True),
        ("corpus-router", 6.0, 8.0, True),
        ("docs keyword/main", 13.0, 15.0, True),
        ("docs+wiki vector/main", 8.0, 10.0, False),
        ("docs graph/main", 8.0, 40.0, False),
        ("wiki graph/main", None, None, True),
        ("faq graph/main", 8.0, 41.0, True),
        ("fuser", 10.0, 40.0, True),
    ]


def test_the_picture_shows_every_row_inside_its_frame_and_no_text_overlaps():
    found = of(PARTIAL)
    drawn = ElementTree.fromstring(draw_timeline(title_of(found), found.timeline))
    width, height = (float(drawn.attrib[name]) for name in ("width", "height"))
    tag = "{http://www.w3.org/2000/svg}"
    said = [each.text or "" for each in drawn.iter(f"{tag}text")]

    assert {bar.name for bar in found.timeline} <= set(said)
    boxes = [each for each in drawn.iter(f"{tag}rect") if "rx" in each.attrib]
    assert len(boxes) == sum(bar.to_ms is not None for bar in found.timeline)
    for box in boxes:
        assert 0 <= float(box.attrib["x"]) <= float(box.attrib["x"]) + float(box.attrib["width"]) <= width
    rows: dict[float, list[tuple[float, float]]] = {}
    for text in drawn.iter(f"{tag}text"):
        left = float(text.attrib["x"])
        wide = 7.3 * len(text.text or "")
        left -= wide / 2 if text.attrib.get("text-anchor") == "middle" else 0
        rows.setdefault(float(text.attrib["y"]), []).append((left, left + wide))
        assert float(text.attrib["y"]) < height
    for spans in rows.values():
        spans.sort()
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert spans[-1][1] <= width


@pytest.mark.parametrize("end_ms", [0.0, 0.004, 1.3, 39.7, 2_000.0, 30_000.0])
def test_the_axis_has_a_few_round_ticks(end_ms):
    answer = PARTIAL.model_copy(update={"hops": (), "elapsed_ms": end_ms, "coverage": Coverage(expected=0)})
    drawn = draw_timeline("t", of(answer).timeline)
    ticks = re.findall(r'text-anchor="middle">([0-9.e-]+)<', drawn)

    assert 2 <= len(ticks) <= 8
    assert ticks[0] == "0"


def test_names_are_data_in_the_picture():
    found = of(PARTIAL)
    drawn = draw_timeline("<script>alert(1)</script> & more", found.timeline)

    assert "<script>" not in drawn
    assert ElementTree.fromstring(drawn) is not None
