"""The analysis of text: scripts, identifiers, names of code, and what is no word at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_backend_workers.domain.analysis import analyse_query, analyse_text


def test_english_words_are_stemmed_and_stop_words_go() -> None:
    assert analyse_text("The cats are running into John's houses").words == ("cat", "run", "john", "hous")


@pytest.mark.parametrize(
    ("one", "other"), [("Zürich", "Zu\u0308rich"), ("don’t", "don't"), ("ＡＢＣ", "abc"), ("ﬁne", "fine")]
)
def test_forms_of_one_text_are_one(one: str, other: str) -> None:
    """CLS-07: NFC and NFD, curly and straight, wide and narrow."""
    assert analyse_text(one) == analyse_text(other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("取消行程", ("取消", "消行", "行程")),
        ("東京タワー", ("東京", "京タ", "タワ", "ワー")),
        ("서울 지하철", ("서울", "지하", "하철")),
        ("API中的错误", ("api", "中的", "的错", "错误")),
        ("हिन्दी में", ("हिन्दी", "में")),
        ("كيف أعيد تعيين", ("كيف", "أعيد", "تعيين")),
    ],
)
def test_scripts(text: str, words: tuple[str, ...]) -> None:
    assert analyse_text(text).words == words


def test_a_single_character_of_an_unspaced_script_is_found() -> None:
    assert analyse_query("猫").wholes == ("猫",)
    assert "猫" in analyse_text("我有一只猫").wholes


@pytest.mark.parametrize(
    "text",
    ["", " ", "\t\n", "\u3000", "\u200b", "???", "...", "- - -", '""', "the of and", "NOT", "😀🎉", "*", "-", "_"],
)
def test_nothing_to_search(text: str) -> None:
    """CLS-01: blank, punctuation and stop words are no query."""
    assert analyse_query(text).empty


@pytest.mark.parametrize(
    "text",
    ["TRAVEL-2026-01", '"TRAVEL-2026-01"', "“TRAVEL-2026-01”", "travel-2026-01", "TRAVEL‑2026‑01", "TRAVEL-2026-01."],
)
def test_an_identifier_is_searched_whole(text: str) -> None:
    """CLS-03: quotes and case are no part of it, and its parts are not searched."""
    terms = analyse_query(text)
    assert (terms.words, terms.wholes, terms.exact) == ((), ("travel-2026-01",), (("travel-2026-01",),))


def test_an_identifier_beside_text() -> None:
    terms = analyse_query("TRAVEL-2026-01 中取消行程的退票费如何处理")
    assert terms.exact == (("travel-2026-01",),)
    assert {"取消", "退票"} <= set(terms.words)


@pytest.mark.parametrize(
    ("identifier", "exact"),
    [
        ("RFC 9110", ("rfc", "9110")),
        ("CVE-2026-1234", ("cve-2026-1234",)),
        ("3.12", ("3.12",)),
        ("123e4567-e89b-12d3-a456-426614174000", ("123e4567-e89b-12d3-a456-426614174000",)),
    ],
)
def test_identifiers_that_the_classifier_found(identifier: str, exact: tuple[str, ...]) -> None:
    assert exact in analyse_query(f"what does {identifier} say", (identifier,)).exact


def test_short_identifiers_keep_their_parts() -> None:
    terms = analyse_query("IL-6 receptor")
    assert terms.words == ("il", "6", "receptor")
    assert terms.exact == (("il-6",),)


def test_names_of_code_are_found_whole_and_by_their_parts() -> None:
    analysed = analyse_text("pathlib.Path.read_text opens an HTTPServer or a TaskGroup in C++")
    assert {"pathlib.path.read_text", "path.read_text", "read_text", "c++"} <= set(analysed.wholes)
    assert {"pathlib", "path", "read", "text", "httpserver", "http", "server", "taskgroup", "task", "group"} <= set(
        analysed.words
    )


def test_camel_case_is_not_seen_in_ordinary_words() -> None:
    assert analyse_text("mRNA DNase SHOUTING").words == ("mrna", "dnase", "shout")


def test_a_run_without_end_is_no_word() -> None:
    """ING-04: a base64 line."""
    assert analyse_text("before " + "a1B2" * 10_000 + " after").words == ("befor", "after")
    assert analyse_text("中" * 1_500).words


@given(st.text(max_size=80))
def test_a_query_finds_the_text_it_is(text: str) -> None:
    """Whatever is indexed is found by the same words, and no term holds a blank."""
    indexed, asked = analyse_text(text), analyse_query(text)
    assert set(asked.words) <= set(indexed.words)
    assert set(asked.wholes) <= set(indexed.wholes)
    assert not any(char.isspace() for term in (*indexed.words, *indexed.wholes) for char in term)
