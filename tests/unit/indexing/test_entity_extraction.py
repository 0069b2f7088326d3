"""Entities: names, quoted names, identifiers and code symbols in order of mention; a gazetteer finds single words."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_indexing.entities import Gazetteer, extract_entities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice Smith and Acme Corp met.", ("Alice Smith", "Acme Corp")),
        ("The Acme Corp was sold. It is old.", ("Acme Corp",)),
        ("Alice Smith's book, by Jean de la Fontaine", ("Alice Smith", "Jean de la Fontaine")),
        ("pathlib.Path and os.path.join, e.g. here", ("pathlib.Path", "os.path.join")),
        ("A BadZipFile is raised by read_text or print()", ("BadZipFile", "read_text", "print")),
        ("see TRAVEL-2026-01, CVE-2026-1234 and RFC 9110", ("TRAVEL-2026-01", "CVE-2026-1234", "RFC 9110")),
        ("the “Great Gatsby” and `json.dumps`", ("Great Gatsby", "json.dumps")),
        ("他读了《红楼梦》", ("红楼梦",)),
        ("id 123e4567-e89b-12d3-a456-426614174000.", ("123e4567-e89b-12d3-a456-426614174000",)),
        ("plain words in a sentence, and nothing else", ()),
        ("mail a@example.com or https://example.com/x.y", ()),
        ("made in Berlin by NATO, Acme (RAG) and the rest", ("Berlin", "NATO", "Acme", "RAG")),
        ("Opening words are no names. Nor is I.", ()),
        ("", ()),
    ],
)
def test_examples(text: str, expected: tuple[str, ...]):
    assert extract_entities(text) == expected


def test_a_gazetteer_finds_whole_words_in_its_own_spelling_longest_first():
    gazetteer = Gazetteer(["Berlin", "New York", "New York Times", "检索", "C++", "os.path"])

    assert extract_entities("in BERLIN the new york times, berliners; 全文检索 with os.path", gazetteer) == (
        "Berlin",
        "New York Times",
        "检索",
        "os.path",
    )


def test_an_empty_gazetteer_finds_nothing():
    assert list(Gazetteer(["", "!!"]).find("anything")) == []


@given(text=st.text(max_size=300))
def test_any_text_gives_bounded_and_repeatable_names(text: str):
    names = extract_entities(text)

    assert names == extract_entities(text)
    assert len(set(names)) == len(names) <= 64
    assert all(0 < len(name) <= 120 and name.strip() for name in names)


def test_single_words_take_only_the_room_that_is_left():
    text = "in " + " in ".join(f"Xanadu{chr(97 + n)}" for n in range(26)) + " and Alice Smith with name_1 "
    names = extract_entities(text + " ".join(f"name_{number}" for number in range(2, 100)))

    assert names[0] == "Alice Smith"
    assert len(names) == 64


def test_many_names_are_bounded():
    assert len(extract_entities(" ".join(f"name_{number}" for number in range(500)))) == 64


@pytest.mark.parametrize("unit", ["a", "A", "A-", "a_", "_", "Aa", "`", '"', "A ", "a.a.", "A of ", "1-"])
def test_time_is_bounded_whatever_the_text(unit: str):
    start = time.process_time()
    extract_entities(unit * 1_000_000)

    assert time.process_time() - start < 1.0
