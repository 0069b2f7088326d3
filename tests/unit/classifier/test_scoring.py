"""Term weights: a dot product over folded terms, each counted once."""

import pytest

from fanfuse_classifier.domain.scoring import TermWeights
from fanfuse_contracts.corpus import CorpusCard


def card(corpus, **weights):
    return CorpusCard(tenant="t", corpus=corpus, term_weights=weights)


def score(text, *cards, expansion_terms=()):
    return TermWeights().score(text, expansion_terms, cards)


def test_the_sum_of_the_weights_of_the_terms_in_the_text():
    aero = card("aero", wing=2.0, flow=1.5, drag=4.0)
    med = card("med", blood=3.0, flow=0.5)

    assert score("Wing flow", aero, med) == {"aero": 3.5, "med": 0.5}


def test_a_corpus_without_a_term_has_no_score():
    assert score("unrelated", card("aero", wing=2.0), card("empty")) == {}


def test_a_term_counts_once_however_often_it_is_repeated():
    assert score("wing " * 100, card("aero", wing=2.0)) == {"aero": 2.0}


def test_negative_weights_speak_against():
    assert score("wing chicken", card("aero", wing=2.0, chicken=-3.0)) == {"aero": -1.0}


def test_expansion_terms_count():
    assert score("lift", card("aero", wing=2.0), expansion_terms=["wing"]) == {"aero": 2.0}


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("Heat-Transfer in tubes", "heat transfer"),
        ("two phase heat transfer", "phase heat transfer"),
        ("ZU\u0308RICH", "zürich"),
        ("中取消行程的退票费", "退票费"),
        ("c++ templates", "c++"),
    ],
)
def test_terms_of_several_words_and_of_scripts_without_blanks(text, term):
    assert score(text, card("c", **{term: 1.0})) == {"c": 1.0}


def test_terms_match_whole_words_only():
    assert score("review of the logo", card("c", log=1.0)) == {}


def test_no_term_spans_text_and_expansion():
    assert score("heat", card("c", **{"heat transfer": 1.0}), expansion_terms=["transfer"]) == {}


def test_keys_that_fold_to_one_term_add_up():
    assert score("wing", card("c", wing=1.0, WING=0.5)) == {"c": 1.5}


def test_a_changed_card_is_read_anew():
    weights = TermWeights()

    assert weights.score("wing", (), [card("c", wing=1.0)]) == {"c": 1.0}
    assert weights.score("wing", (), [card("c", wing=2.0)]) == {"c": 2.0}


def test_tenants_with_a_corpus_of_one_name_are_kept_apart():
    weights = TermWeights()
    other = CorpusCard(tenant="u", corpus="c", term_weights={"wing": 5.0})

    assert weights.score("wing", (), [card("c", wing=1.0)]) == {"c": 1.0}
    assert weights.score("wing", (), [other]) == {"c": 5.0}
