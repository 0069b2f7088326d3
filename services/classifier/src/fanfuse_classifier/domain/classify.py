"""The classifier's whole decision on one query: refuse it, or say what its text says.

In: the query, its tenant's cards, compiled rules and scopes, and the two classifiers. Out: a `Rejection`, or a
`Classification` with raw scores. It chooses no corpus and no lane.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fanfuse_classifier.domain.capabilities import CapabilityMatcher, CardFindings
from fanfuse_classifier.domain.cards import CardIndex
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


_EVERY: Final = ""
"""The one key under which every corpus of a tenant is listed."""


@dataclass(frozen=True, slots=True)
class Classifiers:
    """The parts of the decision; shape and corpora are replaceable."""

    shape: ShapeClassifier
    corpora: CorpusClassifier
    rules: StaticRules = field(default_factory=StaticRules)
    scopes: Scopes = field(default_factory=Scopes)
    capabilities: CapabilityMatcher = field(default_factory=CapabilityMatcher)
    names: CardIndex[None] = field(default_factory=lambda: CardIndex(lambda _: {_EVERY: None}))
    """The corpora of each tenant."""


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
    known: Collection[str] = classifiers.names.of(cards).get(_EVERY, {})
    scores = classifiers.corpora.score(query.text, query.expansion_terms, cards)
    named = classifiers.scopes.find(terms)
    fired = _joined(classifiers.rules.fire(tenant, terms, known), classifiers.scopes.boosts(named, cards))
    asked = classifiers.capabilities.find(terms, cards, query.capability)
    return Classification(
        shape=classifiers.shape(query.text, query.expansion_terms, query.hyde_vector),
        scopes=named,
        corpus_scores=tuple(_rows({c: s for c, s in scores.items() if c in known}, fired, asked)),
    )


def _joined(*parts: Mapping[str, Sequence[FiredRule]]) -> Mapping[str, Sequence[FiredRule]]:
    told = [part for part in parts if part]
    if len(told) < 2:
        return told[0] if told else {}
    corpora = {corpus for part in parts for corpus in part}
    return {corpus: [rule for part in parts for rule in part.get(corpus, ())] for corpus in corpora}


_NOTHING = CardFindings((), ())
CAPABILITY_BOOST: Final = 1.0
"""What an asked capability adds to its corpus's score: as much as a rule's default boost."""


def _boost(asked: AskedCapability) -> FiredRule:
    return FiredRule(rule=f"capability:{asked.capability}", effect=Effect.BOOST, amount=CAPABILITY_BOOST)


def _rows(
    scores: Mapping[str, float], fired: Mapping[str, Sequence[FiredRule]], asked: Mapping[str, CardFindings]
) -> Iterator[CorpusScore]:
    for corpus in sorted(scores.keys() | fired.keys() | asked.keys()):
        found = asked.get(corpus, _NOTHING)
        rules = (*fired.get(corpus, ()), *map(_boost, found.asked))
        # The amount of a rule that excludes is 0.
        score = scores.get(corpus, 0.0) + sum([rule.amount for rule in rules])
        fields = {
            "corpus": corpus,
            "score": score,
            "fired": rules,
            "asked": found.asked,
            "cannot_confirm": found.cannot_confirm,
        }
        # A scorer may be anybody's: only a finite float needs no look.
        usable = type(score) is float and math.isfinite(score)
        yield CorpusScore.of_checked(fields) if usable else CorpusScore.model_validate(fields)
