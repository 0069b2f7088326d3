"""Static rules: boundaries per script, linear expressions, exclusion (CLS-04, CLS-06)."""

import re
import time

import pytest

from fanfuse_classifier.domain.rules import InvalidRuleError, StaticRules
from fanfuse_classifier.domain.terms import read_terms
from fanfuse_contracts.classification import CorpusScore, Effect
from fanfuse_contracts.config import StaticRule


def rule(name="r", corpora=("docs",), **fields):
    return StaticRule(name=name, corpora=corpora, **fields)


def fire(rules, text, corpora=("docs",), tenant="t"):
    return StaticRules(rules).fire(tenant, read_terms(text), set(corpora))


def fires(text, *terms):
    return bool(fire([rule(match_any=terms)], text))


@pytest.mark.parametrize(
    "text", ["review of the new logo", "how to start a chart", "three thresholds", "blogs", "artful", "", "???"]
)
def test_a_term_inside_a_longer_word_does_not_fire(text):
    """CLS-04: log is not in logo, art not in start, hr not in three."""
    assert not fires(text, "log", "art", "hr")


@pytest.mark.parametrize(
    "text", ["show me the log", "HR policy", "hr-policy", "hr_policy", "l'art moderne", "(log)", "the LOG.", "“log”"]
)
def test_a_term_as_a_word_fires(text):
    """CLS-04: whole words, case folded, with any punctuation around them."""
    assert fires(text, "log", "art", "hr")


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        # spaced scripts: whole words
        ("сброс пароля", "пароля", True),
        ("парольный", "пароль", False),
        ("पासवर्ड रीसेट", "पासवर्ड", True),
        ("पासवर्डों", "पासवर्ड", False),
        ("STRASSE", "straße", True),
        ("c++ templates", "c", False),
        ("c++ templates", "c++", True),
        # several words stand side by side, whatever is between them
        ("the hr policy", "HR-policy", True),
        ("hr and policy", "hr policy", False),
        ("HR. Policy", "hr policy", True),
        # scripts without blanks: anywhere
        ("中取消行程的退票费", "退票费", True),
        ("中取消，行程", "取消行程", False),
        ("OpenAI模型", "AI模型", False),
        ("用AI模型", "AI模型", True),
        ("パスワードを忘れた", "パスワード", True),
        ("ลืมรหัสผ่าน", "รหัส", True),
        # Hangul: from the start of a word, particles follow
        ("로그를 보여줘", "로그", True),
        ("블로그", "로그", False),
    ],
)
def test_boundaries_per_script(text, term, expected):
    assert fires(text, term) is expected


def documented(readme):
    """The examples in the README's table of word boundaries: term, text, whether it matches."""
    table = readme.partition("**Word boundaries**")[2].partition("**Expressions**")[0]
    for line in table.splitlines():
        cells = line.strip("| ").split(" | ")
        if len(cells) == 4:
            for cell, expected in zip(cells[2:], (True, False), strict=True):
                yield from ((term, text, expected) for term, text in re.findall(r"`([^`]+)`: `([^`]+)`", cell))


def test_the_documented_boundaries_are_the_real_ones(repository):
    """CLS-04: the table of the README, per script."""
    examples = list(documented((repository / "services/classifier/README.md").read_text(encoding="utf-8")))

    assert len(examples) > 12
    assert [(term, text, fires(text, term)) for term, text, _ in examples] == examples


def test_no_condition_is_always_on():
    fired = fire([rule(boost=0.5)], "anything", ("docs", "other"))

    assert list(fired) == ["docs"]
    assert [(f.rule, f.effect, f.amount) for f in fired["docs"]] == [("r", Effect.BOOST, 0.5)]


def test_either_condition_is_enough():
    rules = [rule(match_any=("refund",), match_regex=r"\bTRAVEL-\d+")]

    assert fire(rules, "Refund, please")
    assert fire(rules, "about TRAVEL-2026-01")
    assert not fire(rules, "about travel-2026-01"), "an expression is case-sensitive unless it says (?i)"


def test_exclude_wins_over_boost():
    """CLS-04: both are reported, and the row says excluded."""
    rules = [rule("in", match_any=("log",), boost=9), rule("out", match_any=("log",), effect="exclude")]
    fired = tuple(fire(rules, "the log")["docs"])
    row = CorpusScore(corpus="docs", score=9.0, fired=fired)

    assert [f.rule for f in fired] == ["in", "out"]
    assert row.excluded


def test_a_rule_of_another_tenant_or_for_a_corpus_that_is_not_there_does_not_fire():
    rules = [rule("a", tenant="t"), rule("b", tenant="u"), rule("c", corpora=("gone", "docs", "docs"))]

    assert [f.rule for f in fire(rules, "x")["docs"]] == ["a", "c"]
    assert fire(rules, "x", ()) == {}


def test_a_pathological_expression_is_matched_in_linear_time():
    """CLS-06: hours in a backtracking engine, and the queries behind it wait no longer."""
    rules = StaticRules([rule(match_regex="(a+)+b")])
    evil, longest = read_terms("a" * 40 + "X"), read_terms("a" * 8_000)
    began = time.process_time()
    assert rules.fire("t", evil, {"docs"}) == {}
    assert rules.fire("t", longest, {"docs"}) == {}

    assert time.process_time() - began < 0.5
    assert rules.fire("t", read_terms("aab"), {"docs"})


@pytest.mark.parametrize("expression", ["([", "(?<=a)b", r"(a)\1", "a{1001}"])
def test_an_expression_that_is_not_re2_is_refused_by_name(expression):
    """CLS-06: at start, with the rule's name."""
    with pytest.raises(InvalidRuleError, match=r"routing rule 'billing': match_regex .* is not valid RE2"):
        StaticRules([rule("fine"), rule("billing", match_regex=expression)])


def test_an_expression_that_would_cost_too_much_is_refused_by_name():
    """CLS-06: a megabyte of alternatives is a list of words, and belongs into match_any."""
    alternatives = "|".join(f"word{number:06d}" for number in range(91_000))

    with pytest.raises(
        InvalidRuleError, match=r"routing rule .billing.: match_regex .word000000.*too costly"
    ) as refused:
        StaticRules([rule("billing", match_regex=alternatives)])
    assert len(str(refused.value)) < 400


def test_a_term_without_a_word_is_refused_by_name():
    with pytest.raises(InvalidRuleError, match=r"routing rule 'billing': match_any '\?\?' holds no letter or digit"):
        StaticRules([rule("billing", match_any=("invoice", "??"))])
