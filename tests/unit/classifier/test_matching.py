"""The index of terms finds what a search for each term in turn would find."""

from hypothesis import given
from hypothesis import strategies as st

from fanfuse_classifier.domain.matching import TermIndex, file_terms
from fanfuse_classifier.domain.terms import read_pattern, read_terms

LETTERS = ("a", "b", "ab", "log", "-", " ", "退", "票", "费", "로", "그", "로그", "パ", "ス", "ู", "รหัส", "++", "é", "ß")
WRITTEN = st.lists(st.sampled_from(LETTERS), max_size=8).map("".join)


def one_by_one(terms, text):
    padded = read_terms(text).padded
    return {t for t in terms if (pattern := read_pattern(t)) is not None and pattern.padded in padded}


@given(terms=st.lists(WRITTEN, max_size=12), text=st.lists(WRITTEN, max_size=4).map(" ".join))
def test_the_index_finds_what_a_search_for_each_term_finds(terms, text):
    index = TermIndex((term, term) for term in terms)

    assert set(index.find(read_terms(text))) == one_by_one(terms, text)


@given(terms=st.lists(st.text(max_size=6), max_size=6), text=st.text(max_size=40))
def test_also_for_any_unicode(terms, text):
    index = TermIndex((term, term) for term in terms)

    assert set(index.find(read_terms(text))) == one_by_one(terms, text)


@given(term=WRITTEN, before=WRITTEN, after=WRITTEN)
def test_every_anchor_of_a_term_is_among_those_of_a_text_that_holds_it(term, before, after):
    pattern = read_pattern(term)
    terms = read_terms(before + term + after)
    if pattern is not None and pattern.padded in terms.padded:
        assert set(pattern.anchors) <= terms.anchors


def test_a_term_is_filed_under_the_word_that_is_rarest_among_the_terms():
    """A word that many terms share would have all of them looked for in every text with that word."""
    filed = file_terms([("leave policy", 1), ("travel policy", 2), ("expense policy", 3)])

    assert sorted(filed) == ["expense", "leave", "travel"]


def test_a_term_without_a_word_is_left_out():
    assert file_terms([("??", 1), ("", 2)]) == {}
