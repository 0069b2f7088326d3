"""Saved lane lists are fused again to the same order and scores, and every difference is counted."""

from pathlib import Path

import pytest

from fanfuse_contracts.answer import Copy
from fanfuse_contracts.enums import Kind
from fanfuse_evaluation.lane_lists import AnsweredHit, LaneList, LaneListsError, load, save
from fanfuse_evaluation.offline import Places, differences, document_list, fused_again
from tests.reference import policies
from tests.unit.evaluation.records import RRF, asked, lane


def reference_lane(one: LaneList) -> policies.ReferenceLane:
    hits = [policies.Hit(hit.chunk_id, hit.rank, hit.score, hit.content_hash) for hit in one.hits]
    return policies.ReferenceLane(one.lane.corpus, one.lane.weight, hits)


def test_the_order_is_that_of_the_independent_reference():
    record = asked()
    lanes = [
        policies.ReferenceLane(
            one.lane.corpus,
            one.lane.weight,
            [policies.Hit(h.chunk_id, h.rank, h.score, h.content_hash) for h in one.hits],
        )
        for one in record.lists
    ]
    reference = policies.fuse(lanes, "rrf")

    found = [(hit.chunk_id, hit.score) for hit in fused_again(record, RRF)]

    assert found == [(row.chunk_id, row.score) for row in reference]
    assert [name for name, _ in found] == ["b", "d", "a", "c"]


def test_what_is_saved_is_read_again_bit_for_bit(tmp_path: Path):
    records = (asked("q1"), asked("q2", lost=("tiny vector/main: failed",)))

    save(tmp_path / "lanes.jsonl", records)
    again = load(tmp_path / "lanes.jsonl")

    assert again == records
    assert [differences(one) for one in again] == [Places(4, 0, 0)] * 2


def test_every_difference_is_counted():
    right = asked().answer
    swapped = asked(answer=(right[1], right[0], *right[2:]))
    touched = asked(answer=(right[0].model_copy(update={"score": right[0].score * (1 + 1e-15)}), *right[1:]))

    assert differences(swapped) == Places(4, order=2, score=0)
    assert differences(touched) == Places(4, order=0, score=1)
    assert differences(asked(answer=right[:3])) == Places(4, order=1, score=0)
    assert differences(asked(answer=(), lists=(), fusion=None)) == Places(0, 0, 0)


def test_parts_count_as_their_document_and_foreign_hits_bear_their_corpus():
    record = asked(documents={"long#1": "long", "long#2": "long"})
    hits = [
        AnsweredHit(corpus="tiny", chunk_id="long#2", score=3.0),
        AnsweredHit(corpus="other", chunk_id="b", score=2.0),
        AnsweredHit(corpus="tiny", chunk_id="long#1", score=1.0),
        AnsweredHit(corpus="other", chunk_id="x", score=0.5, also_in=(Copy(corpus="tiny", chunk_id="d"),)),
    ]

    assert document_list(record, hits) == ["long", "other/b", "d"]


def test_equal_content_of_two_corpora_is_one_hit_that_counts_for_its_collection():
    first, second = lane(Kind.KEYWORD, 2.0, "x", corpus="other"), lane(Kind.KEYWORD, 1.0, "d")
    same = [
        one.model_copy(update={"hits": (one.hits[0].model_copy(update={"content_hash": "same"}),)})
        for one in (first, second)
    ]
    record = asked(lists=tuple(same))

    (hit,) = fused_again(record, RRF)

    assert (hit.corpus, hit.chunk_id) == ("other", "x")
    assert document_list(record, [hit]) == ["d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("", "holds no query"),
        ("{", r"lanes\.jsonl:1: not a query of `fanfuse eval --save-lanes`: the line: Invalid JSON"),
        ('{"collection": "tiny"}', r"lanes\.jsonl:1: .*query_id: Field required"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str | None, message: str):
    if text is not None:
        (tmp_path / "lanes.jsonl").write_text(text)

    with pytest.raises(LaneListsError, match=message):
        load(tmp_path / "lanes.jsonl")


def test_a_query_that_stands_there_twice_is_refused(tmp_path: Path):
    save(tmp_path / "lanes.jsonl", [asked(), asked()])

    with pytest.raises(LaneListsError, match=r"lanes\.jsonl:2: query 'q1' stands there a second time"):
        load(tmp_path / "lanes.jsonl")
