"""Operators' expressions: what is refused when they are compiled, and what they read (CLS-06)."""

import time

import pytest

from fanfuse_classifier.domain.expressions import AnyOf, Expression, InvalidExpressionError
from fanfuse_classifier.domain.text import normalise
from fanfuse_contracts import limits


@pytest.mark.parametrize(
    ("written", "text", "expected"),
    [
        (r"\bTRAVEL-\d{4}-\d+\b", "about TRAVEL-2026-01", True),
        (r"\bTRAVEL-\d{4}-\d+\b", "about travel-2026-01", False),
        (r"(?i)travel-\d+", "TRAVEL-1", True),
        (r"(EMP)-(\d+)", "EMP-1", True),
        ("Zu\u0308rich", "Z\u00fcrich", True),
        (r"\p{Han}{2,4}案件", "查询民事案件", True),
        (r"^EMP-\d+$", "EMP-1", True),
        (r"^EMP-\d+$", "of EMP-1", False),
    ],
)
def test_a_part_of_the_text_matches(written, text, expected):
    assert Expression(written).matches(normalise(text)) is expected


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("([", "missing ]"),
        ("(?<=a)b", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a{1001}", "repetition"),
        (r"\pL{30}", "too costly: .* instructions, at most 2000"),
        ("(a|b)*a(a|b){900}(a|b){900}(a|b){900}", "too costly"),
        (r"\pL{900}", "pattern too large"),
        ("((a{30}){30}){30}", "repetition"),
        ("\ud800(", r"missing \)"),
    ],
)
def test_what_is_no_expression_or_too_costly_is_refused_with_its_reason(written, why):
    with pytest.raises(InvalidExpressionError, match=why):
        Expression(written)


EVIL = ["(a+)+b", "(a|aa)+$b", "(.*a){30}b", "([a-zA-Z]+)*1", "(a|b)*a(a|b){500}c", "(a?){400}a{400}c", "a.{240}c"]


@pytest.mark.parametrize("written", EVIL)
def test_forty_characters_take_less_than_ten_milliseconds(written):
    """CLS-06: whatever is accepted."""
    expression = Expression(written)
    expression.matches("a" * 40 + "X")
    took = []
    for _ in range(3):
        began = time.process_time()
        assert not expression.matches("a" * 40 + "X")
        took.append(time.process_time() - began)

    assert min(took) < 0.01


@pytest.mark.parametrize("written", EVIL)
def test_the_longest_text_takes_a_bounded_time(written):
    """Backtracking would take years; on one of these 8,192 characters take some 100 ms, on most of them one."""
    began = time.process_time()
    assert not Expression(written).matches("a" * limits.MAX_TEXT_BYTES)

    assert time.process_time() - began < 2.0


@pytest.mark.parametrize(
    "written",
    [
        r"(?i)\b(?:refund|chargeback|return)s?\b.{0,40}\b(?:policy|rules?)\b",
        r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        r"\pL+",
        r".{0,200}x",
    ],
)
def test_the_bound_is_above_what_people_write(written):
    assert not Expression(written).matches("???")


@pytest.mark.parametrize(
    "written",
    [
        ["(?i)foo", "b|c", "^z"],
        ["(?s)a.b", r"x\Qy.(", "d$"],
        [r"\Qab", r"\Qx\E?y"],
        [r"a{600}", r"b{600}", r"c{600}", r"d{600}"],
        [],
    ],
)
def test_a_look_at_all_of_them_misses_none(written):
    expressions = [Expression(one) for one in written]
    joined = AnyOf(expressions)
    for text in ("FOO", "B", "c", "xz", "z", "a\nb", "xy.(", "d", "ab", "y", "", "a" * 700, "d" * 700):
        assert joined.may_match(text) or not any(one.matches(text) for one in expressions)


def test_a_look_at_all_of_them_saves_a_look_at_each():
    assert not AnyOf([Expression("b|c"), Expression("^z")]).may_match("a question on money")
