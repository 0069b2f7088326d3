"""The classifier's whole decision on one query: refuse it, or say what its text says.

In: the query, its tenant's cards, compiled rules and scopes, and the two classifiers. Out: a `Rejection`, or a
`Classification` with raw scores. It chooses no corpus and no lane.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import TypeAdapter

from fanfuse_classifier.domain.capabilities import CapabilityMatcher, CardFindings
from fanfuse_classifier.domain.refusals import refuse_blank
from fanfuse_classifier.domain.rules import StaticRules
from fanfuse_classifier.domain.scopes import Scopes
from fanfuse_classifier.domain.terms import read_terms
from fanfuse_classifier.ports import CorpusClassifier, ShapeClassifier
from fanfuse_contracts.classification import AskedCapability, CorpusScore, Effect, FiredRule, QueryShape, ScopeSignal
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import SubmittedQuery


@dataclass(frozen=True, slots=True)
class Classification:
    """What was found: the shape, the scopes, and a row for each corpus of which anything is to say, by corpus id."""

    shape: QueryShape
    scopes: tuple[ScopeSignal, ...]
    corpus_scores: tuple[CorpusScore, ...]


@dataclass(frozen=True, slots=True)
class Classifiers:
    """The parts of the decision; shape and corpora are replaceable."""

    shape: ShapeClassifier
    corpora: CorpusClassifier
    rules: StaticRules = field(default_factory=StaticRules)
    scopes: Scopes = field(default_factory=Scopes)
    capabilities: CapabilityMatcher = field(default_factory=CapabilityMatcher)


def classify(
    query: SubmittedQuery, tenant: str, cards: Sequence[CorpusCard], classifiers: Classifiers
) -> Classification | Rejection:
    """Classify a query of a tenant against that tenant's cards.

    The shape reads text, expansion terms and the presence of a HyDE vector; scores read text and expansion terms;
    rules, scopes and cards read the text alone, so that a guessed term never excludes a corpus or asks for anything.
    """
    if (rejection := refuse_blank(query.text)) is not None:
        return rejection
    terms = read_terms(query.text)
    known = {card.corpus for card in cards}
    scores = classifiers.corpora.score(query.text, query.expansion_terms, cards)
    named = classifiers.scopes.find(terms)
    fired = _joined(classifiers.rules.fire(tenant, terms, known), classifiers.scopes.boosts(named, cards))
    asked = classifiers.capabilities.find(terms, cards, query.capability)
    return Classification(
        shape=classifiers.shape(query.text, query.expansion_terms, query.hyde_vector),
        scopes=named,
        corpus_scores=_ROWS.validate_python([*_rows({c: s for c, s in scores.items() if c in known}, fired, asked)]),
    )


def _joined(*parts: Mapping[str, Sequence[FiredRule]]) -> Mapping[str, Sequence[FiredRule]]:
    corpora = {corpus for part in parts for corpus in part}
    return {corpus: [rule for part in parts for rule in part.get(corpus, ())] for corpus in corpora}


_ROWS: Final = TypeAdapter(tuple[CorpusScore, ...])
"""Validates all at once: half the time of one model after the other."""
_NOTHING = CardFindings((), ())
CAPABILITY_BOOST: Final = 1.0
"""What an asked capability adds to its corpus's score: as much as a rule's default boost."""


def _boost(asked: AskedCapability) -> FiredRule:
    return FiredRule(rule=f"capability:{asked.capability}", effect=Effect.BOOST, amount=CAPABILITY_BOOST)


def _rows(
    scores: Mapping[str, float], fired: Mapping[str, Sequence[FiredRule]], asked: Mapping[str, CardFindings]
) -> Iterator[Mapping[str, object]]:
    """The fields of each `CorpusScore`."""
    for corpus in sorted(scores.keys() | fired.keys() | asked.keys()):
        found = asked.get(corpus, _NOTHING)
        rules = (*fired.get(corpus, ()), *map(_boost, found.asked))
        boosts = sum([rule.amount for rule in rules if rule.effect is Effect.BOOST])
        yield {
            "corpus": corpus,
            "score": scores.get(corpus, 0.0) + boosts,
            "fired": rules,
            "asked": found.asked,
            "cannot_confirm": found.cannot_confirm,
        }
