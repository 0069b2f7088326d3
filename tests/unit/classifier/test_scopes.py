"""Scopes: what the text names, and whom it speaks for."""

import pytest

from fanfuse_classifier.domain.rules import InvalidRuleError
from fanfuse_classifier.domain.scopes import Scopes
from fanfuse_classifier.domain.terms import read_terms
from fanfuse_contracts.classification import Effect, FiredRule, ScopeSignal
from fanfuse_contracts.config import Scope, ScopeKind
from fanfuse_contracts.corpus import CorpusCard

HR = Scope(name="hr", kind=ScopeKind.DOMAIN, aliases=("HR", "human resources", "人事"), boost=0.5)
TICKETS = Scope(name="tickets", kind=ScopeKind.CONTENT, aliases=("ticket", "incident report"))
SCOPES = Scopes((HR, TICKETS))
CARDS = (
    CorpusCard(tenant="t", corpus="handbook", scopes=frozenset({"hr"})),
    CorpusCard(tenant="t", corpus="jira", scopes=frozenset({"tickets", "hr"})),
    CorpusCard(tenant="t", corpus="web"),
)


def named(text):
    return [(signal.scope, signal.alias) for signal in SCOPES.find(read_terms(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the HR ticket", [("hr", "HR"), ("tickets", "ticket")]),
        ("a ticket of human-resources", [("hr", "human resources"), ("tickets", "ticket")]),
        ("human resources, short HR", [("hr", "HR")]),
        ("请问人事部门", [("hr", "人事")]),
        ("three tickets", []),
        ("", []),
    ],
)
def test_each_scope_is_named_once_by_its_first_alias(text, expected):
    assert named(text) == expected


def test_every_corpus_that_lists_a_named_scope_gets_its_boost():
    boosts = SCOPES.boosts(SCOPES.find(read_terms("HR ticket")), CARDS)
    hr = FiredRule(rule="scope:hr", effect=Effect.BOOST, amount=0.5)
    tickets = FiredRule(rule="scope:tickets", effect=Effect.BOOST, amount=1.0)

    assert boosts == {"handbook": [hr], "jira": [hr, tickets]}


def test_a_scope_that_is_not_named_boosts_nothing():
    assert SCOPES.boosts((), CARDS) == {}


def test_no_scopes_find_nothing():
    assert Scopes().find(read_terms("HR")) == ()


def test_an_alias_without_a_word_is_refused_by_name():
    with pytest.raises(InvalidRuleError, match=r"scope 'hr': alias '\?\?' holds no letter or digit"):
        Scopes([Scope(name="hr", kind=ScopeKind.DOMAIN, aliases=("HR", "??"))])


def test_a_signal_says_which_words_named_it():
    assert SCOPES.find(read_terms("an Incident Report")) == (ScopeSignal(scope="tickets", alias="incident report"),)
