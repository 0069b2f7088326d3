"""The trained scorer: log-odds against the floor, by hand and as the router uses them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_classifier.adapters.profiles import load_trained
from fanfuse_classifier.domain.trained import TrainedScorer
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_corpus_router.domain.candidates import softmax
from tests.unit.classifier.tiny_profile import FLOOR, tiny_profile

CORPORA = ("aero", "code", "news")


def scorer(tenant=None, **changes):
    return TrainedScorer(tiny_profile(**changes).model, tenant)


def card(corpus, tenant="t", **weights):
    return CorpusCard(tenant=tenant, corpus=corpus, term_weights=weights)


CARDS = [card(corpus) for corpus in CORPORA]


def test_a_score_by_hand():
    # One known word, no known form or script: the vector is 1 in one column.
    logits = [(2.0 + 0.1) / 0.5, -1.0 / 0.5, (-1.0 - 0.1) / 0.5]
    total = math.log(math.fsum(map(math.exp, logits)))

    scores = scorer(**{"model.lengths": {"word": 1.0}}).score("wing", (), CARDS)

    assert scores == pytest.approx(
        {name: logit - total - math.log(FLOOR) for name, logit in zip(CORPORA, logits, strict=True)}, abs=1e-6
    )


def test_softmax_at_temperature_one_gives_the_probabilities_back():
    scores = scorer().score("which wing?", (), CARDS)

    chances = dict(zip(scores, softmax(list(scores.values()), 1.0), strict=True))

    assert {name: math.exp(score) * FLOOR for name, score in scores.items()} == pytest.approx(chances)
    assert max(chances, key=lambda name: chances[name]) == "aero"


def test_a_score_is_positive_where_the_probability_is_above_the_floor():
    scores = scorer().score("python", (), CARDS)

    assert scores["code"] > 0.0
    assert {name for name, score in scores.items() if score > 0.0} == {
        name for name, score in scores.items() if math.exp(score) * FLOOR > FLOOR
    }
    assert scores["aero"] < 0.0


@given(st.text(max_size=60), st.sets(st.sampled_from(CORPORA)))
def test_a_score_does_not_depend_on_which_other_corpora_exist(text, present):
    everything = scorer().score(text, (), CARDS)

    assert scorer().score(text, (), [card(name) for name in present]) == {name: everything[name] for name in present}


def test_a_corpus_that_came_later_is_scored_by_its_terms_from_the_floor_on():
    scores = scorer().score("wing contract", (), [*CARDS, card("legal", contract=1.5), card("empty")])

    assert scores["legal"] == 1.5
    assert "empty" not in scores
    assert scores["aero"] > scores["legal"]


def test_a_trained_corpus_keeps_its_trained_score_whatever_its_terms():
    assert scorer().score("wing", (), [card("code", wing=9.0)])["code"] == scorer().score("wing", (), CARDS)["code"]


def test_only_unknown_corpora_need_no_profile():
    assert scorer().score("contract", (), [card("legal", contract=1.5)]) == {"legal": 1.5}
    assert scorer().score("contract", (), []) == {}


def test_a_profile_of_one_tenant_knows_no_corpus_of_another():
    mine, other = card("aero", "mine", wing=0.5), card("aero", "other", wing=0.5)

    assert scorer("mine").score("wing", (), [mine]) == scorer().score("wing", (), [mine])
    assert scorer("mine").score("wing", (), [other]) == {"aero": 0.5}


def test_expansion_terms_speak_too():
    plain, expanded = scorer().score("lift", (), CARDS), scorer().score("lift", ("wing",), CARDS)

    assert expanded["aero"] > plain["aero"]


@given(st.text(max_size=200))
def test_every_text_has_finite_scores_that_are_always_the_same(text):
    first = scorer().score(text, (), CARDS)

    assert all(map(math.isfinite, first.values()))
    assert first.keys() == set(CORPORA)
    assert scorer().score(text, (), CARDS) == first


def test_margins_of_any_size_are_finite():
    scores = scorer(**{"model.temperature": 1e-6}).score("wing", (), CARDS)

    assert all(map(math.isfinite, scores.values()))


def test_a_file_is_a_scorer(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text(tiny_profile(tenant="mine").to_lines(), encoding="utf-8")

    loaded = load_trained(path)

    assert loaded.score("wing", (), [card("aero", "mine")]) == scorer().score("wing", (), [card("aero")])
    assert loaded.score("wing", (), [card("aero", "other")]) == {}
