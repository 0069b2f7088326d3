"""Features of a query: named, folded, bounded, and the same for every writing of a text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_classifier.domain.features import MAX_CHARS, Block, read_features


def names(text, block, *terms):
    return set(read_features(text, terms)[block])


def test_grams_run_across_words_and_edges():
    assert names("Ab c", Block.GRAM) == {
        " ", "a", "b", "c", " a", "ab", "b ", " c", "c ", " ab", "ab ", "b c", " c ", " ab ", "ab c", "b c ",
    }  # fmt: skip


def test_grams_and_words_are_counted():
    features = read_features("log the log")

    assert features[Block.WORD] == {"log": 2, "the": 1}
    assert features[Block.GRAM]["log"] == 2


def test_chinese_is_grams_and_a_script_not_one_long_word():
    features = read_features("基金怎么买")

    assert {"基", "基金", "怎么买"} <= set(features[Block.GRAM])
    assert features[Block.WORD] == {}
    assert features[Block.SCRIPT] == {"han": 1.0}


def test_scripts_are_shares():
    assert read_features("abc 基")[Block.SCRIPT] == {"latin": 0.75, "han": 0.25}


def test_case_is_form_not_content():
    upper, lower = read_features("WHAT IS RAG?"), read_features("what is rag?")

    assert upper[Block.GRAM] == lower[Block.GRAM]
    assert upper[Block.WORD] == lower[Block.WORD]
    assert upper[Block.FORM]["share=XX"] == 0.75
    assert lower[Block.FORM]["share=x"] == 0.75


@pytest.mark.parametrize(
    ("token", "form"),
    [
        ("Word", "Xx"), ("ABC", "XX"), ("I", "X"), ("iPhone", "xX"), ("2024", "9"), ("v2", "x9"), ("read_text", "_"),
        ("查", "o"), ("%", "%"),
    ],
)  # fmt: skip
def test_forms_of_a_token(token, form):
    assert read_features(token)[Block.FORM][f"opens={form}"] == 1.0


def test_length_counts_two_unspaced_characters_as_a_word():
    assert "words>=3" in names("基金怎么买吧", Block.FORM)
    assert "words>=4" not in names("基金怎么买吧", Block.FORM)


def test_expansion_terms_add_content_only_and_no_gram_spans_two_texts():
    plain, expanded = read_features("Lift"), read_features("Lift", ["Wing", "drag"])

    assert expanded[Block.WORD].keys() == {"lift", "wing", "drag"}
    assert "t w" not in expanded[Block.GRAM]
    assert expanded[Block.FORM] == plain[Block.FORM]
    assert expanded[Block.SCRIPT] == plain[Block.SCRIPT]


def test_only_the_first_characters_are_read():
    head = "a " * (MAX_CHARS // 2)

    assert read_features(head) == read_features(head + "wing " * 1_000)
    assert "wing" not in names("x", Block.WORD, "a" * MAX_CHARS, "wing")


def test_a_text_without_letters_has_features_and_a_blank_one_none():
    assert read_features("???")[Block.GRAM]
    assert not any(read_features(" \t\n").values())


@given(st.text(max_size=80))
def test_any_text_has_positive_features_and_composed_text_the_same(text):
    features = read_features(text)

    assert all(value > 0 for found in features.values() for value in found.values())
    assert read_features(unicodedata.normalize("NFD", text)) == read_features(unicodedata.normalize("NFC", text))
