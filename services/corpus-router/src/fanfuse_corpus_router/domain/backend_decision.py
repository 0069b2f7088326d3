"""Which backends of one corpus are searched, as the answer shows it.

In: what became of a corpus's wired lanes. Out: the fields of a `RoutingDecision` that hold for every query of the same
kind. It describes; it decides nothing but `bm25_fallback`.
"""

from collections.abc import Sequence
from typing import Any

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.plan import SkippedLane
from fanfuse_contracts.weights import Weights
from fanfuse_corpus_router.domain.bias import kind_weights, mentions_only
from fanfuse_corpus_router.domain.wired import WiredLane, label


def decision_fields(
    card: CorpusCard,
    shape: Shape,
    fixed: Weights | None,
    searched: Sequence[WiredLane],
    skipped: Sequence[SkippedLane],
) -> dict[str, Any]:
    """The fields of the `RoutingDecision`, in the order of the class; `described` adds what is the query's own.

    `shape` weighs the lanes, or `fixed`, the weights of an earlier decision.
    """
    kinds = {lane.wiring.kind for lane in searched}
    lost = [lane for lane in skipped if lane.fallback_reason is not None]
    return {
        "corpus": card.corpus,
        "shape": shape,
        "use_vector": Kind.VECTOR in kinds,
        "use_keyword": Kind.KEYWORD in kinds,
        "use_graph": Kind.GRAPH in kinds,
        "weights": kind_weights(shape, card, fixed),
        "degraded_backends": tuple(sorted(map(label, lost))),
        "bm25_fallback": _is_fallback(kinds, lost),
        "reason": _fates([_name(card, lane) for lane in searched], skipped),
        "source": card.source,
        "corpus_weight": 1.0,
        "asked": (),
        "stands_in_for": None,
    }


def _is_fallback(kinds: set[Kind], lost: Sequence[SkippedLane]) -> bool:
    """Keyword is alone, and a lane of another kind was left out for health (a second keyword engine is none)."""
    return kinds == {Kind.KEYWORD} and any(lane.kind is not Kind.KEYWORD for lane in lost)


def _name(card: CorpusCard, lane: WiredLane) -> str:
    return f"{lane.label} (no relations: a quarter of its weight)" if mentions_only(card, lane.wiring) else lane.label


def _fates(searched: Sequence[str], skipped: Sequence[SkippedLane]) -> str:
    said = f"searched: {', '.join(searched) or 'nothing'}"
    left_out = [f"{label(lane)} ({lane.reason})" for lane in skipped]
    return f"{said}; left out: {', '.join(left_out)}" if left_out else said
