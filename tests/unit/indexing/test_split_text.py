"""Splitting keeps every non-blank character in order, respects the sizes, and cuts at the best boundary there is."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanfuse_indexing.splitting import split_spans, split_text

SNIPPETS = st.sampled_from(
    [
        "word ",
        "A sentence. ",
        "\n\n",
        "\n",
        "　",
        "检索增强生成。",
        "日本語、",
        "مرحبا؟ ",
        "👩‍👩‍👧",
        "é",
        "-" * 50,
        "   ",
        "x" * 90,
    ]
)
TEXTS = st.one_of(st.text(max_size=400), st.lists(SNIPPETS, max_size=60).map("".join))


def without_blanks(text: str) -> str:
    return "".join(text.split())


@settings(deadline=None)
@given(text=TEXTS, target=st.integers(5, 60), more=st.integers(0, 60))
def test_no_text_is_lost_and_sizes_hold(text: str, target: int, more: int):
    parts = split_text(text, target, target + more)

    assert without_blanks("".join(parts)) == without_blanks(text)
    assert all(0 < len(part) <= target + more and part.strip() == part for part in parts)


@given(text=TEXTS)
def test_spans_are_in_order_and_do_not_overlap(text: str):
    edges = [edge for span in split_spans(text, 20, 30) for edge in span]

    assert edges == sorted(edges)


def test_paragraphs_are_packed_up_to_the_target():
    parts = split_text("\n\n".join(["p" * 40] * 6), target=90, maximum=200)

    assert [part.count("p" * 40) for part in parts] == [2, 2, 2]


def test_a_long_paragraph_is_cut_after_sentences():
    parts = split_text("One two three. " * 20, target=50, maximum=60)

    assert all(part.endswith(".") for part in parts)


def test_ing_04_chinese_without_spaces_is_cut_after_its_sentences():
    """ING-04: a 1,500-character Chinese paragraph stays whole; a longer one is cut after 。"""
    sentence = "检索增强生成把检索到的文本交给模型。"

    assert split_text(sentence * 84) == [sentence * 84]
    assert all(part.endswith("。") and len(part) <= 2_000 for part in split_text(sentence * 300))


def test_ing_04_an_unbroken_token_is_cut_at_the_maximum():
    """ING-04: a 40 kB base64 line."""
    parts = split_text("QUJD" * 10_000)

    assert {len(part) for part in parts} == {2_000}
    assert "".join(parts) == "QUJD" * 10_000


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d👩\u200d👧", "नि"])
def test_a_hard_cut_parts_no_letter_from_its_marks(cluster: str):
    parts = split_text(cluster * 200, target=101, maximum=101)

    assert all(part.startswith(cluster[0]) and len(part) % len(cluster) == 0 for part in parts)


def test_ten_thousand_marks_on_one_letter_are_still_cut():
    assert "".join(split_text("Z" + "\u0301" * 10_000)) == "Z" + "\u0301" * 10_000


@pytest.mark.parametrize("text", ["." * 300_000, "\n" * 300_000, '"' * 300_000, "a,b;" * 75_000, " \n" * 150_000])
def test_time_is_linear_whatever_the_text(text: str):
    start = time.process_time()
    split_text(text)

    assert time.process_time() - start < 2.0


def test_a_short_rest_joins_the_chunk_before_it():
    assert [len(part) for part in split_text("a" * 1_100 + "\n\n" + "b" * 1_100 + "\n\n" + "c" * 50)] == [1_100, 1_152]
