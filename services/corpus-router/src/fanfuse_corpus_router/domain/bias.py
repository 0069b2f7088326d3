"""How much each kind of backend counts for each shape of query.

In: a shape, a corpus. Out: weights of its lanes. The table is the project's default, stated in its README.
"""

from functools import lru_cache
from types import MappingProxyType
from typing import Final

from fanfuse_contracts.base import MAX_WEIGHT
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.weights import Weights

BIAS: Final = MappingProxyType(
    {
        Shape.KEYWORD_HEAVY: Weights(vector=0.3, keyword=1.5, graph=0.5),
        Shape.SEMANTIC: Weights(vector=1.5, keyword=1.0, graph=0.8),
        Shape.ENTITY_RICH: Weights(vector=1.0, keyword=1.2, graph=1.8),
        Shape.MIXED: Weights(vector=1.0, keyword=1.0, graph=1.0),
    }
)

MENTIONS_ONLY: Final = 0.25
"""Factor on a graph without a relation: who mentions a name is what the keyword lane finds too (ADR 0020)."""

# Looking a member of an enum up costs more than the rest of the arithmetic below.
_VECTOR, _KEYWORD, _GRAPH = Kind.VECTOR, Kind.KEYWORD, Kind.GRAPH


def _of(weights: Weights, kind: Kind) -> float:
    if kind is _VECTOR:
        return weights.vector
    return weights.keyword if kind is _KEYWORD else weights.graph


def mentions_only(card: CorpusCard, wiring: Wiring) -> bool:
    """True for a graph of which it is known that it holds no relation."""
    return card.relations == 0 and wiring.kind is _GRAPH


def _own(card: CorpusCard, wiring: Wiring) -> float:
    """The wiring's weight by itself."""
    return wiring.weight * MENTIONS_ONLY if mentions_only(card, wiring) else wiring.weight


def biased_weight(shape: Shape, card: CorpusCard, wiring: Wiring, fixed: Weights | None = None) -> float:
    """Weight of a lane of this corpus by the shape's bias, or the `fixed` weight of its kind; 0 switches it off."""
    if fixed is not None:
        return _of(fixed, wiring.kind) + 0.0  # -0.0 becomes 0.0
    return min(_own(card, wiring) * _of(BIAS[shape], wiring.kind), MAX_WEIGHT) + 0.0


def kind_weights(shape: Shape, card: CorpusCard, fixed: Weights | None = None) -> Weights:
    """Weights per kind for one corpus: that of the strongest wiring, or the plain bias where none is wired.

    `fixed`, those of an earlier decision, stand as they are.
    """
    if fixed is not None:
        return fixed
    strongest: dict[Kind, float] = {}
    for wiring in card.backends:
        strongest[wiring.kind] = max(_own(card, wiring), strongest.get(wiring.kind, 0.0))
    return _weights(shape, strongest.get(_VECTOR, 1.0), strongest.get(_KEYWORD, 1.0), strongest.get(_GRAPH, 1.0))


@lru_cache(maxsize=1_024)
def _weights(shape: Shape, vector: float, keyword: float, graph: float) -> Weights:
    """Most corpora of an installation have one of a few combinations."""
    bias = BIAS[shape]
    return Weights(
        vector=min(vector * bias.vector, MAX_WEIGHT) + 0.0,
        keyword=min(keyword * bias.keyword, MAX_WEIGHT) + 0.0,
        graph=min(graph * bias.graph, MAX_WEIGHT) + 0.0,
    )
