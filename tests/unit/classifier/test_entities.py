"""Entities are the names in a text; capitals that say nothing make none."""

import pytest

from fanfuse_classifier.domain.shape import classify_shape


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("Alice Smith and Acme Corp", ("Alice Smith", "Acme Corp")),
        ("Alice and Bob", ("Alice", "Bob")),
        ("Who is the CEO of Acme?", ("CEO", "Acme")),
        ("What is RAG?", ("RAG",)),
        ("was Leonardo da Vinci born in Vinci", ("Leonardo da Vinci", "Vinci")),
        ("the University of California in the U.S. today", ("University of California", "U.S.")),
        ("films by Dr. Ann O'Brien", ("Dr. Ann O'Brien",)),
        ("Procter & Gamble results", ("Procter & Gamble",)),
        ('songs like "Thinking Out Loud"', ("Thinking Out Loud",)),
        ("who wrote 《红楼梦》", ("红楼梦",)),
        ("how does pathlib.Path join", ("pathlib.Path",)),
        ("where does Алиса Смит live", ("Алиса Смит",)),
        # the first word of a sentence
        ("Statins increase blood cholesterol. Nobody knows why.", ()),
        ("Earnings grew; what did Acme say?", ("Acme",)),
        # function words and the pronoun
        ("can I cancel", ()),
        ("The Beatles", ("Beatles",)),
        # capitals that say nothing
        ("WHAT IS RAG", ()),
        ("Cancer Risk From CT Scan Radiation", ("CT",)),
        ("Bitcoin Cost Basis Purchases", ()),
        ("Wie kann ich mein Passwort zurücksetzen", ()),
        ("Wo wohnt Angela Merkel", ("Angela Merkel",)),
        # lower-case quotes, identifiers
        ('the "buy high, sell low" problem', ()),
        ("status of TRAVEL-2026-01", ()),
    ],
)
def test_entities(text, entities):
    assert classify_shape(text).entities == entities


def test_repeats_are_named_once():
    assert classify_shape("did Acme buy Acme from Globex").entities == ("Acme", "Globex")


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('a "b c" d', ("b c",)),
        ("“smart quotes” here", ("smart quotes",)),
        ("„Gänsefüßchen“ und «guillemets»", ("Gänsefüßchen", "guillemets")),
        ("it's Acme's 'old' bank", ("old",)),
        ("『引用』と「括弧」", ("引用", "括弧")),
        ('"  inner   blanks "', ("inner blanks",)),
        ('an "unclosed quote', ()),
        ('empty "" and "..."', ()),
    ],
)
def test_phrases(text, phrases):
    assert classify_shape(text).phrases == phrases
