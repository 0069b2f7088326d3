"""Any text up to the limit has a defined shape, in linear time; equivalent texts have the same one (CLS-01, CLS-07)."""

import time
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from fanfuse_classifier.domain.rules import StaticRules
from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_classifier.domain.terms import read_terms, weighable_terms
from fanfuse_contracts.config import StaticRule
from fanfuse_contracts.limits import MAX_TEXT_BYTES

# Pieces that the rules look for, so that random texts reach them.
PIECES = st.sampled_from(
    [
        *("What is ", "Alice Smith", "TRAVEL-2026-01", "v1.2.3", "pathlib.Path", " and ", "#1", "::", "://", "\n"),
        *('"', "“", "'", "?", "。", "中取消", "が", "한국", "कैसे", "كيف", "é", "ﬁ", "ß", "İ", "Å", "😀"),
        *("e\u0301", "\u0323\u0301", "\u1100\u1161", "\u0344", "\u0f73", "\u200b", "\u202e", "\ud83d", "\x00"),
    ]
)
TEXTS = st.lists(st.text(max_size=8) | PIECES, max_size=60).map("".join)
RULES = StaticRules([StaticRule(name="umlaut", corpora=("de",), match_any=("Zürich",), match_regex="ü.i")])


def fired(rules, text):
    return rules.fire("t", read_terms(text), {"de"}).get("de", ())


@given(TEXTS)
def test_any_text_has_one_shape_and_its_features_are_in_it(text):
    found = classify_shape(text)

    assert found == classify_shape(text)
    assert found.reason
    assert all(feature.strip() for feature in (*found.identifiers, *found.phrases, *found.entities))
    found.to_json()


@given(TEXTS)
def test_composed_and_decomposed_texts_are_the_same_query(text):
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)

    assert classify_shape(composed) == classify_shape(decomposed)
    assert weighable_terms(composed) == weighable_terms(decomposed)
    assert read_terms(composed) == read_terms(decomposed)
    assert fired(RULES, composed) == fired(RULES, decomposed)


@given(TEXTS.filter(bool))
@settings(max_examples=20)
def test_the_longest_texts_are_read_too(piece):
    encoded = (piece * MAX_TEXT_BYTES).encode("utf-8", "replace")
    text = encoded[:MAX_TEXT_BYTES].decode("utf-8", "ignore")

    assert classify_shape(text) == classify_shape(unicodedata.normalize("NFD", text))


def test_nfc_and_nfd_of_a_name():
    """CLS-07: both forms of Zürich fire the same rules, with rules written in either form."""
    for rule_form in ("NFC", "NFD"):
        rule = StaticRule(name="city", corpora=("de",), match_any=(unicodedata.normalize(rule_form, "zürich"),))
        for text_form in ("NFC", "NFD"):
            text = unicodedata.normalize(text_form, "hotels in Zürich")
            assert [one.rule for one in fired(StaticRules([rule]), text)] == ["city"]


def test_bidi_controls_change_nothing():
    """CLS-07: an override in a right-to-left text is left out of what is read."""
    text = "كيف أعيد تعيين كلمة المرور"

    assert classify_shape(f"\u202e{text}\u202c") == classify_shape(text)


def fastest(text):
    """CPU seconds of the fastest of two runs."""
    times = []
    for _ in range(2):
        began = time.process_time()
        classify_shape(text)
        times.append(time.process_time() - began)
    return min(times)


def test_ten_thousand_marks_are_defined_and_quick():
    """CLS-07: marks in the worst order would make composing quadratic."""
    text = "a" + "\u0301\u0316" * 5_000

    assert classify_shape(text).shape == classify_shape(unicodedata.normalize("NFD", text)).shape
    assert fastest(text) < 0.1
