"""What a caller sends along so that the next query of a session stays with its sources.

In: the decisions of an answer or a plan. Out: a `StickyDecision` for the field `decision` of a query. It holds shape,
corpora and weights only: lanes, filters, health and budget are planned anew.
"""

from collections.abc import Sequence

from fanfuse_contracts import limits
from fanfuse_contracts.plan import RoutingDecision
from fanfuse_contracts.query import StickyCorpus, StickyDecision


def sticky_of(decisions: Sequence[RoutingDecision]) -> StickyDecision:
    """The decision to stay with: the first 32 corpora in their order, with their shares and the weights of their kinds.

    Raises `ValueError` where nothing was decided, as in a refusal.
    """
    if not decisions:
        raise ValueError("the answer holds no decision to stay with: it is a refusal, or was made before planning")
    return StickyDecision(
        shape=decisions[0].shape,
        corpora=tuple(map(_corpus, decisions[: limits.MAX_CORPORA_PER_QUERY])),
    )


def _corpus(decision: RoutingDecision) -> StickyCorpus:
    share = min(max(decision.corpus_weight, limits.MIN_CORPUS_WEIGHT), 1.0)
    return StickyCorpus(corpus=decision.corpus, weight=share, weights=decision.weights)
