"""The classifier's whole decision on one query: refuse it, or say what its text says.

In: the query, its tenant's cards, compiled rules and the two classifiers. Out: a `Rejection`, or a `Classification`
with raw scores. It chooses no corpus and no lane.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fanfuse_classifier.domain.refusals import refuse_blank
from fanfuse_classifier.domain.rules import StaticRules
from fanfuse_classifier.ports import CorpusClassifier, ShapeClassifier
from fanfuse_contracts.classification import CorpusScore, Effect, FiredRule, QueryShape
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import SubmittedQuery


@dataclass(frozen=True, slots=True)
class Classification:
    """What was found: the shape, and a row for each corpus with a score or a fired rule, by corpus id."""

    shape: QueryShape
    corpus_scores: tuple[CorpusScore, ...]


@dataclass(frozen=True, slots=True)
class Classifiers:
    """The replaceable parts of the decision."""

    shape: ShapeClassifier
    corpora: CorpusClassifier
    rules: StaticRules


def classify(
    query: SubmittedQuery, tenant: str, cards: Sequence[CorpusCard], classifiers: Classifiers
) -> Classification | Rejection:
    """Classify a query of a tenant against that tenant's cards.

    The shape reads text, expansion terms and the presence of a HyDE vector; scores read text and expansion terms; rules
    read the text alone, so that a guessed term never excludes a corpus.
    """
    if (rejection := refuse_blank(query.text)) is not None:
        return rejection
    shape = classifiers.shape(query.text, query.expansion_terms, query.hyde_vector)
    scores = classifiers.corpora.score(query.text, query.expansion_terms, cards)
    known = {card.corpus for card in cards}
    fired = classifiers.rules.fire(tenant, query.text, known)
    return Classification(shape, tuple(_rows({c: s for c, s in scores.items() if c in known}, fired)))


def _rows(scores: Mapping[str, float], fired: Mapping[str, Sequence[FiredRule]]) -> Iterator[CorpusScore]:
    for corpus in sorted(scores.keys() | fired.keys()):
        rules = tuple(fired.get(corpus, ()))
        boosts = sum(rule.amount for rule in rules if rule.effect is Effect.BOOST)
        yield CorpusScore(corpus=corpus, score=scores.get(corpus, 0.0) + boosts, fired=rules)
