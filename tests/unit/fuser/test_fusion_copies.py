"""Equal content in several corpora: one hit that names the others, and never a corpus that was not searched."""

import pytest

from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.retrieval import ChunkText, LaneHit
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.page import Texts, page_of, wanted_texts
from fanfuse_fuser.domain.ranked import RankedList
from tests.unit.fuser.fuser_builders import lane


def found(*pairs):
    return tuple(
        LaneHit(chunk_id=key, rank=rank, score=1.0 / rank, content_hash=content, title=key)
        for rank, (key, content) in enumerate(pairs, 1)
    )


LEGAL = RankedList(lane("vector", "legal"), found(("a", "same"), ("b", "b")))
NEWS = RankedList(lane("vector", "news", 0.9), found(("n", "n"), ("c", "same")))
HELP = RankedList(lane("vector", "help", 0.5), found(("d", "same"), ("e", "same")))


def rows(*lists, collapse=True):
    return fuse(lists, FusionConfig(policy=FusionPolicy.RRF, collapse=collapse))


def shown(hits):
    return [(hit.chunk_id, [(copy.corpus, copy.chunk_id) for copy in hit.also_in]) for hit in hits]


def test_the_best_copy_is_the_hit_and_names_the_others_best_first():
    page = page_of(rows(LEGAL, NEWS, HELP), 0, 10, None)
    copies = [("news", "c"), ("help", "d"), ("help", "e")]
    assert shown(page.hits) == [("a", copies), ("b", []), ("n", [])]
    assert page.hits[0].score == 1 / 61, "a copy is no second opinion: it adds nothing"
    assert len(page.hits[0].contributions) == 1


def test_chunks_of_one_corpus_stay_apart():
    assert shown(page_of(rows(HELP), 0, 10, None).hits) == [("d", []), ("e", [])]
    assert (
        len(rows(RankedList(lane("vector", "x"), found(("p", ""))), RankedList(lane("vector", "y"), found(("q", "")))))
        == 2
    )


def test_switched_off_every_copy_is_a_hit():
    page = page_of(rows(LEGAL, NEWS, HELP, collapse=False), 0, 10, None)
    assert [hit.chunk_id for hit in page.hits] == ["a", "b", "n", "c", "d", "e"]
    assert not any(hit.also_in for hit in page.hits)


def test_a_corpus_without_a_lane_is_never_named():
    """Only what the principal may read has a lane in the plan."""
    page = page_of(rows(LEGAL, NEWS), 0, 10, None)
    assert {copy.corpus for hit in page.hits for copy in hit.also_in} == {"news"}


def test_one_text_is_fetched_for_equal_content():
    assert wanted_texts(rows(LEGAL, NEWS, HELP), 0, 10) == {"legal": ("a", "b"), "news": ("n",)}


def test_a_copy_takes_the_place_of_a_deleted_hit():
    texts = Texts({("legal", "b"): ChunkText(chunk_id="b", text="B")}, {("legal", "a"), ("help", "d")})
    page = page_of(rows(LEGAL, NEWS, HELP), 0, 2, texts)
    assert shown(page.hits) == [("c", [("help", "e")]), ("b", [])]
    assert (page.hits[0].score, page.gone, page.missing_texts) == (0.9 / 62, 0, ("c",))
    gone = {("legal", "a"), ("news", "c"), ("help", "d"), ("help", "e")}
    assert shown(page_of(rows(LEGAL, NEWS, HELP), 0, 2, Texts({}, gone)).hits) == [("b", []), ("n", [])]


@pytest.mark.parametrize("policy", list(FusionPolicy))
def test_a_copys_seat_is_kept_by_the_hit_that_names_it(policy):
    many = RankedList(lane("keyword", "legal", 1.5), found(*((f"m{at:02}", f"m{at:02}") for at in range(30))))
    last = RankedList(lane("vector", "legal", 0.01), found(("o", "o"), ("p", "same")))
    other = RankedList(lane("vector", "news", 0.001), found(("c", "same")))
    fused = fuse([many, last, other], FusionConfig(policy=policy))
    kept = {row.chunk_id: row.reserved_by for row in fused[:10]}
    holder = "p" if "p" in kept else "c"
    assert {"o", holder} <= kept.keys()
    assert len(fused) == 32
