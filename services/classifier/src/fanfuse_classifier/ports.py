"""What can be replaced in the classifier, by entry point.

In: text and cards. Out: contract models. An implementation must be deterministic, must not raise for any text, and
decides nothing about corpora or backends.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.query import QueryVector


class ShapeClassifier(Protocol):
    """Entry points of the group `fanfuse.shape_classifiers`."""

    def __call__(
        self, text: str, expansion_terms: Sequence[str] = (), hyde_vector: QueryVector | None = None
    ) -> QueryShape:
        """Shape and features of a text."""
        ...


class CorpusClassifier(Protocol):
    """What a factory of the group `fanfuse.corpus_classifiers` makes when it is called without arguments."""

    def score(self, text: str, expansion_terms: Sequence[str], cards: Sequence[CorpusCard]) -> Mapping[str, float]:
        """Raw score per corpus id, finite, any scale; corpora without a score may be absent."""
        ...
