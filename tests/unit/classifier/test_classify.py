"""The whole decision: blank queries are refused, fields that matter change the result, others don't."""

import math

import pytest
from pydantic import ValidationError

from fanfuse_classifier.domain.classify import Classification, Classifiers, classify
from fanfuse_classifier.domain.rules import StaticRules
from fanfuse_classifier.domain.scopes import Scopes
from fanfuse_classifier.domain.scoring import TermWeights
from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_contracts.classification import AskedCapability, CorpusScore, Effect, FiredRule, ScopeSignal
from fanfuse_contracts.config import Scope, ScopeKind, StaticRule
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import RejectionCode
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import Principal, QueryVector, SubmittedQuery
from fanfuse_runtime.rejections import reject_invalid

CARDS = (
    CorpusCard(tenant="t", corpus="aero", term_weights={"wing": 2.0}),
    CorpusCard.model_validate(
        {
            "tenant": "t",
            "corpus": "law",
            "scopes": ["legal"],
            "can_answer": [
                {"name": "clauses", "match_any": ["clause"], "required": [{"name": "id", "pattern": "C-\\d"}]}
            ],
            "cannot_confirm": [{"name": "verdicts", "match_any": ["verdict"]}],
        }
    ),
    CorpusCard(tenant="t", corpus="med", term_weights={"blood": 3.0}),
)
RULES = StaticRules(
    [
        StaticRule(name="flight", corpora=("aero",), match_any=("flight",), boost=1.5),
        StaticRule(name="no-law", corpora=("law",), match_any=("wing",), effect=Effect.EXCLUDE),
    ]
)
SCOPES = Scopes([Scope(name="legal", kind=ScopeKind.DOMAIN, aliases=("legal", "law"), boost=0.25)])
CLASSIFIERS = Classifiers(classify_shape, TermWeights(), RULES, SCOPES)


def run(text, **fields):
    return classify(SubmittedQuery(text=text, **fields), "t", CARDS, CLASSIFIERS)


def test_rows_hold_raw_scores_and_fired_rules_by_corpus_id():
    found = run("wing of a flight")

    assert isinstance(found, Classification)
    assert found.corpus_scores == (
        CorpusScore(corpus="aero", score=3.5, fired=(FiredRule(rule="flight", effect=Effect.BOOST, amount=1.5),)),
        CorpusScore(corpus="law", score=0.0, fired=(FiredRule(rule="no-law", effect=Effect.EXCLUDE),)),
    )


def test_rows_hold_what_is_asked_of_a_corpus_and_what_it_can_not_confirm():
    [row] = run("clause C-7 of the verdict").corpus_scores

    boost = FiredRule(rule="capability:clauses", effect=Effect.BOOST, amount=1.0)
    assert (row.corpus, row.score, row.fired) == ("law", 1.0, (boost,)), "what is asked speaks for its corpus"
    assert row.asked == (AskedCapability(capability="clauses", matched=("clause",), found=("id",)),)
    assert row.cannot_confirm == ("verdicts",)


def test_a_capability_that_the_query_names_is_asked_of_whoever_has_it():
    [row] = run("anything", capability="clauses").corpus_scores

    assert (row.corpus, row.asked) == ("law", (AskedCapability(capability="clauses", matched=()),))


def test_a_named_scope_is_told_and_boosts_its_corpora_after_the_rules():
    found = run("legal wing")

    assert found.scopes == (ScopeSignal(scope="legal", alias="legal"),)
    law = found.corpus_scores[1]
    assert (law.corpus, law.score) == ("law", 0.25)
    assert [fired.rule for fired in law.fired] == ["no-law", "scope:legal"]
    assert law.excluded, "a boost never outweighs an exclude"


def test_nothing_to_say_about_corpora_is_no_row():
    assert run("acme 2024 earnings").corpus_scores == ()


@pytest.mark.parametrize("text", ["", " ", "\t\n", "\u3000", "\u200b", "\ufeff \u2060", "\u200b\u3000\u00a0", "\u2800"])
def test_blank_texts_are_refused(text):
    """CLS-01: blank after a Unicode trim is an empty query."""
    refused = run(text)

    assert isinstance(refused, Rejection)
    assert refused.code is RejectionCode.EMPTY_QUERY
    assert not refused.retryable


@pytest.mark.parametrize("text", ["???", "...", "- - -", '""', "the of and", "😀"])
def test_punctuation_and_stop_words_have_a_shape_and_no_corpus(text):
    """CLS-01: no exception, no exact material, nothing that selects every corpus."""
    found = run(text)

    assert isinstance(found, Classification)
    assert (found.shape.identifiers, found.shape.entities, found.corpus_scores) == ((), (), ())


@pytest.mark.parametrize(
    "fields",
    [
        {"expansion_terms": ("retrieval augmented generation",)},
        {"expansion_terms": ("AB-12",)},
        {"expansion_terms": ("wing",)},
    ],
)
def test_expansion_terms_change_the_classification(fields):
    assert run("What is RAG?", **fields) != run("What is RAG?")


def test_a_hyde_vector_changes_the_classification():
    vector = QueryVector(model="m", values=(1.0,))

    assert run("acme 2024 earnings", hyde_vector=vector) != run("acme 2024 earnings")


def test_expansion_terms_fire_no_rule_and_ask_for_nothing():
    """A guessed term must never exclude a corpus, or have the caller asked back."""
    guessed = run("lift", expansion_terms=("wing", "clause", "verdict", "legal"))

    assert guessed.corpus_scores == (CorpusScore(corpus="aero", score=2.0),)
    assert guessed.scopes == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"corpora": ("law",)},
        {"top_k": 3, "offset": 2, "window": 7, "budget_ms": 100},
        {"filter": {"field": "year", "op": "eq", "value": 2020}},
        {"graph_seeds": ("Acme",)},
        {"vector": {"model": "m", "values": (1.0,)}},
        {"principal": Principal(id="alice")},
        {"include_text": False},
    ],
)
def test_fields_about_routing_and_retrieval_do_not(fields):
    assert run("wing flight", **fields) == run("wing flight")


def test_scores_of_corpora_that_are_not_the_tenants_are_dropped():
    class Leaky:
        def score(self, text, expansion_terms, cards):
            return {"aero": 1.0, "someone-elses": 9.0}

    found = classify(SubmittedQuery(text="x"), "t", CARDS, Classifiers(classify_shape, Leaky(), StaticRules()))

    assert isinstance(found, Classification)
    assert [row.corpus for row in found.corpus_scores] == ["aero"]


def rejection_of(body):
    with pytest.raises(ValidationError) as caught:
        SubmittedQuery.from_json(body)
    return reject_invalid(caught.value)


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"{", RejectionCode.INVALID_QUERY, "body: Invalid JSON"),
        (b"[]", RejectionCode.INVALID_QUERY, "body: "),
        (b"\xff\xfe", RejectionCode.INVALID_QUERY, "body: Invalid JSON"),
        (b"{}", RejectionCode.INVALID_QUERY, "text: Field required"),
        (b'{"text":"x","topk":3}', RejectionCode.INVALID_QUERY, "topk: Extra inputs are not permitted"),
        (b'{"text":"x","top_k":"many"}', RejectionCode.INVALID_QUERY, "top_k: "),
        (b'{"text":"x","top_k":0}', RejectionCode.INVALID_QUERY, "top_k: "),
        (b'{"text":"a\\u0000b"}', RejectionCode.INVALID_QUERY, "text: text holds a NUL character"),
        (b'{"text":"\\ud83d"}', RejectionCode.INVALID_QUERY, "hex escape"),
        (b'{"text":"\\ud83d and more"}', RejectionCode.INVALID_QUERY, "hex escape"),
        (b'{"text":"x","filter":{"field":"a","op":"like","value":1}}', RejectionCode.INVALID_QUERY, "filter."),
        (b'{"text":"%s"}' % (b"x" * 9_000), RejectionCode.TOO_LARGE, "text: text has 9000 bytes: at most 8192"),
        (b'{"text":"%s"}' % (b"x" * 1_000_000), RejectionCode.TOO_LARGE, "text: text has 1000000 bytes"),
        (b'{"text":"%s"}' % ("\u0301" * 10_000).encode(), RejectionCode.TOO_LARGE, "text: text has 20000 bytes"),
        (b'{"text":"x","graph_seeds":[%s]}' % b",".join([b'"s"'] * 99), RejectionCode.TOO_LARGE, "graph_seeds: "),
    ],
)
def test_bad_bodies_get_a_short_message_that_names_the_field(body, code, said):
    """CLS-07: unpaired surrogates and NUL are refused with a reason."""
    rejection = rejection_of(body)

    assert rejection.code is code
    assert said in rejection.message
    assert len(rejection.message) < 700
    assert not rejection.retryable


def test_many_faults_are_counted_not_listed():
    message = rejection_of(b'{"a":1,"b":2,"c":3,"d":4,"e":5}').message

    assert message.count(";") == 3
    assert message.endswith("and 3 more")


@pytest.mark.parametrize("score", [math.nan, math.inf, "much", None])
def test_a_scorer_that_gives_no_number_is_refused(score):
    class Odd:
        def score(self, text, expansion_terms, cards):
            return {cards[0].corpus: score}

    with pytest.raises((ValidationError, TypeError)):
        classify(SubmittedQuery(text="x"), "t", CARDS, Classifiers(classify_shape, Odd(), StaticRules()))


def test_a_scorer_may_count_in_whole_numbers():
    class Whole:
        def score(self, text, expansion_terms, cards):
            return {cards[0].corpus: 2}

    found = classify(SubmittedQuery(text="x"), "t", CARDS, Classifiers(classify_shape, Whole(), StaticRules()))
    assert isinstance(found, Classification)
    [row] = found.corpus_scores
    assert (row.score, type(row.score)) == (2.0, float)
    assert CorpusScore.from_json(row.to_json()) == row
