"""Pages, texts and the size of an answer."""

import pytest

from fanfuse_contracts.enums import Status
from fanfuse_contracts.retrieval import ChunkText
from fanfuse_fuser.domain.assembly import Joined, assemble
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.join import LaneResult
from fanfuse_fuser.domain.page import NO_TEXTS, SPARES, Texts, fit, page_of, wanted_texts
from fanfuse_fuser.domain.ranked import RankedList
from tests.unit.fuser.fuser_builders import contents_of, hits, lane, planned, reply

VECTOR, KEYWORD = lane("vector"), lane("keyword")
SIXTY = [f"c{number:02}" for number in range(60)]


def fused(ids=SIXTY):
    return fuse([RankedList(VECTOR, hits(*ids)), RankedList(KEYWORD, hits(*reversed(ids)))])


def texts(ids, gone=(), size=10):
    known = {("docs", one): ChunkText(chunk_id=one, text="x" * size, source=f"{one}.md") for one in ids}
    return Texts(known, {("docs", one) for one in gone})


@pytest.mark.parametrize("top_k", [1, 3, 5, 10, 50])
def test_a_smaller_top_k_is_a_prefix(top_k):
    """FUS-08: the window does not depend on top_k."""
    all_of_them = page_of(fused(), 0, 100, None).hits
    assert len(all_of_them) == 60, "fewer than top_k are available: the page is shorter, total says how many"
    assert page_of(fused(), 0, top_k, None).hits == all_of_them[:top_k]


def test_pages_join_without_holes():
    """FUS-09: offset and top_k cut the fused list, not the lanes."""
    twenty = page_of(fused(), 0, 20, None).hits
    assert page_of(fused(), 0, 10, None).hits + page_of(fused(), 10, 10, None).hits == twenty
    assert [hit.rank for hit in twenty] == list(range(1, 21))
    assert page_of(fused(), 60, 10, None).hits == ()
    assert page_of(fused(), 400, 10, NO_TEXTS).hits == ()


def test_deleted_chunks_make_room():
    rows = fused(["a", "b", "c", "d", "e"])
    order = [row.chunk_id for row in rows]
    page = page_of(rows, 0, 3, texts(order, gone=(order[1], order[4])))
    assert [hit.chunk_id for hit in page.hits] == [order[0], order[2], order[3]]
    assert [hit.rank for hit in page.hits] == [1, 2, 3]
    assert (page.gone, page.missing_texts) == (1, ())


def test_a_page_is_full_even_when_the_spares_are_used_up():
    rows = fused()
    order = [row.chunk_id for row in rows]
    asked = wanted_texts(rows, 0, 10)["docs"]
    assert list(asked) == order[: 10 + SPARES]
    page = page_of(rows, 0, 10, texts(asked, gone=order[:8]))
    assert [hit.chunk_id for hit in page.hits] == order[8:18]
    assert page.missing_texts == tuple(order[15:18])


def test_texts_that_did_not_come_are_named_and_their_hits_stay():
    rows = fused(["a", "b"])
    page = page_of(rows, 0, 10, texts(["a"]))
    assert [(hit.chunk_id, hit.text, hit.source) for hit in page.hits] == [("a", "x" * 10, "a.md"), ("b", None, "")]
    assert page.missing_texts == ("b",)
    assert page_of(rows, 0, 10, None).missing_texts == (), "no text was asked for"


def test_each_corpus_has_its_own_text():
    """FUS-11."""
    rows = fuse([RankedList(lane("vector", one), contents_of(one, *hits("doc-1#0"))) for one in ("legal", "support")])
    known = {(corpus, "doc-1#0"): ChunkText(chunk_id="doc-1#0", text=corpus) for corpus in ("legal", "support")}
    page = page_of(rows, 0, 10, Texts(known, set()))
    assert [(hit.corpus, hit.text) for hit in page.hits] == [("legal", "legal"), ("support", "support")]
    assert wanted_texts(rows, 0, 10) == {"legal": ("doc-1#0",), "support": ("doc-1#0",)}


def answer(ids, size):
    rows = fused(ids)
    result = LaneResult(VECTOR, reply(VECTOR, hits(*ids)))
    page = page_of(rows, 0, 100, texts(ids, size=size))
    return assemble(planned([VECTOR]), Joined((result,), len(rows)), page, arrived_ms=0.0, elapsed_ms=1.0)


def test_an_answer_that_fits_is_left_alone():
    small = answer(SIXTY, 10)
    assert fit(small).answer is small


def test_texts_are_cut_first_from_the_end_and_named():
    big = answer(SIXTY, 20_000)
    cut, body = fit(big)
    assert body == cut.to_json()
    assert len(body) <= 512 * 1024
    assert [hit.chunk_id for hit in cut.hits] == [hit.chunk_id for hit in big.hits]
    with_text = [hit.chunk_id for hit in cut.hits if hit.text is not None]
    assert with_text == [hit.chunk_id for hit in big.hits][: len(with_text)]
    assert len(with_text) >= 20
    assert cut.missing_texts == tuple(hit.chunk_id for hit in cut.hits if hit.text is None)
    assert cut.status is Status.COMPLETE


@pytest.mark.parametrize("limit", [30_000, 20_000, 12_000, 5_000])
def test_any_limit_is_kept(limit):
    ids = [f'é\n\x01"{number:02}' for number in range(60)]
    cut, body = fit(answer(ids, 300), limit)
    assert body == cut.to_json()
    assert len(body) <= limit
    assert cut.total == 60
    assert cut.status is (Status.COMPLETE if len(cut.hits) == 60 else Status.PARTIAL)
    assert cut.missing_texts == tuple(hit.chunk_id for hit in cut.hits if hit.text is None)
    assert len(cut.missing_texts) > 0
