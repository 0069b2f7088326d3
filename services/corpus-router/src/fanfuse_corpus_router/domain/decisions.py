"""The decision for one selected corpus, as the answer shows it.

In: a corpus's card and what became of its wired lanes. Out: a frozen `RoutingDecision`. It describes; it decides
nothing but `bm25_fallback`.
"""

from collections.abc import Sequence

from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import RoutingDecision, SkippedLane
from fanfuse_corpus_router.domain.bias import kind_weights
from fanfuse_corpus_router.domain.lanes import ReadyLane, WiredLane


def describe(card: CorpusCard, wired: Sequence[WiredLane], classification: QueryShape) -> RoutingDecision:
    """`wired` holds every wired lane of this corpus and no other."""
    ready = [lane.wiring for lane in wired if isinstance(lane, ReadyLane)]
    skipped = [lane for lane in wired if isinstance(lane, SkippedLane)]
    kinds = {wiring.kind for wiring in ready}
    return RoutingDecision(
        corpus=card.corpus,
        shape=classification.shape,
        use_vector=Kind.VECTOR in kinds,
        use_keyword=Kind.KEYWORD in kinds,
        use_graph=Kind.GRAPH in kinds,
        weights=kind_weights(classification.shape, card.backends),
        degraded_backends=tuple(sorted(_label(lane) for lane in skipped if lane.fallback_reason is not None)),
        bm25_fallback=_is_fallback(kinds, skipped),
        reason=_reason(classification, [f"{w.kind.value}/{w.backend}" for w in ready], skipped),
    )


def _is_fallback(kinds: set[Kind], skipped: Sequence[SkippedLane]) -> bool:
    """Keyword is alone, and a lane of another kind was left out for health (a second keyword engine is none)."""
    lost = any(lane.fallback_reason is not None and lane.kind is not Kind.KEYWORD for lane in skipped)
    return kinds == {Kind.KEYWORD} and lost


def _reason(classification: QueryShape, searched: Sequence[str], skipped: Sequence[SkippedLane]) -> str:
    left_out = [f"{_label(lane)} ({lane.reason})" for lane in skipped]
    parts = [
        f"{classification.shape.value} ({classification.reason})",
        f"searched: {', '.join(searched) or 'nothing'}",
        *([f"left out: {', '.join(left_out)}"] if left_out else []),
    ]
    return "; ".join(parts)


def _label(lane: SkippedLane) -> str:
    return f"{lane.kind.value}/{lane.backend}"
