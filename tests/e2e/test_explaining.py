"""`fanfuse explain` on a running installation: an answered query, a refused one, an unknown one."""

import json
from xml.etree import ElementTree

import pytest

from fanfuse_all_in_one.explanation import Explanation
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import RejectionCode, Status

pytestmark = pytest.mark.slow


def test_an_answer_is_explained_from_what_is_stored(running, acme_docs, tmp_path):
    running.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--public")
    asked = running.must_call("ask", "How many days of holiday do employees take?", "--tenant", "acme", "--json")
    answer = Answer.from_json(asked.encode())
    picture = tmp_path / "timeline.svg"
    shown = running.must("explain", answer.query_id, "--tenant", "acme", "--picture", str(picture))

    for part in (
        "complete",
        "corpora: ",
        "timeline",
        "corpus-router",
        "keyword/main",
        "= score",
        "bm25_fallback: False",
    ):
        assert part in shown
    assert "cannot show" not in shown
    drawn = "".join(ElementTree.parse(picture).getroot().itertext())
    assert "fuser" in drawn
    assert "docs keyword/main" in drawn

    found = Explanation.from_json(running.must_call("explain", answer.query_id, "--tenant", "acme", "--json").encode())
    assert found.status is Status.COMPLETE
    assert found.audited is True
    assert all(hit.sum_is_score for hit in found.hits)
    assert all(part.recomputed == part.value for hit in found.hits for part in hit.contributions)
    assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in answer.hits]
    asked_lanes = [lane for lane in found.lanes if lane.lane is not None]
    assert all(lane.window == 100 for lane in asked_lanes)
    for bar in found.timeline:
        assert bar.from_ms is None or (bar.to_ms is not None and 0 <= bar.from_ms <= bar.to_ms <= found.elapsed_ms)


def test_a_refusal_is_explained_and_an_unknown_query_is_said(running):
    refused = running.call("ask", "anything", "--tenant", "nobody", "--json")
    query_id = Answer.from_json(refused.stdout.encode()).query_id
    found = json.loads(running.must_call("explain", query_id, "--tenant", "nobody", "--json"))
    assert found["rejection"]["code"] == RejectionCode.NO_VISIBLE_CORPUS.value

    other = running.call("explain", query_id, "--tenant", "acme")
    assert other.returncode == 2
    assert "has no stored answer" in other.stderr
    assert "24 hours" in other.stderr
    png = running.call("explain", query_id, "--tenant", "nobody", "--picture", "x.png")
    assert png.returncode == 2
    assert ".svg" in png.stderr
