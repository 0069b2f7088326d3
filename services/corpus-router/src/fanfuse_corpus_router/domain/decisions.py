"""The decisions of a plan, as the answer shows them.

In: selected corpora and what became of their wired lanes. Out: a frozen `RoutingDecision` for each, and the corpus
decision as it is carried out. It describes; it decides nothing but `bm25_fallback`.
"""

from collections.abc import Sequence

from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.plan import CorpusRoutingDecision, RoutingDecision, SkippedLane
from fanfuse_corpus_router.domain.bias import kind_weights
from fanfuse_corpus_router.domain.lanes import WiredCorpus


def describe(corpus: WiredCorpus, shape: Shape, shape_reason: str) -> RoutingDecision:
    """`shape` weighs the lanes; `shape_reason` says where it comes from."""
    ready, skipped = corpus.ready, corpus.skipped
    kinds = {lane.wiring.kind for lane in ready}
    return RoutingDecision(
        corpus=corpus.card.corpus,
        shape=shape,
        use_vector=Kind.VECTOR in kinds,
        use_keyword=Kind.KEYWORD in kinds,
        use_graph=Kind.GRAPH in kinds,
        weights=kind_weights(shape, corpus.card.backends, corpus.selected.kind_weights),
        degraded_backends=tuple(sorted(_label(lane) for lane in skipped if lane.fallback_reason is not None)),
        bm25_fallback=_is_fallback(kinds, skipped),
        reason=_reason(
            f"{shape.value} ({shape_reason})",
            [f"{one.wiring.kind.value}/{one.wiring.backend}" for one in ready],
            skipped,
        ),
        source=corpus.source,
        corpus_weight=corpus.selected.weight,
        asked=corpus.asked,
        stands_in_for=corpus.stands_in_for,
    )


def _is_fallback(kinds: set[Kind], skipped: Sequence[SkippedLane]) -> bool:
    """Keyword is alone, and a lane of another kind was left out for health (a second keyword engine is none)."""
    lost = any(lane.fallback_reason is not None and lane.kind is not Kind.KEYWORD for lane in skipped)
    return kinds == {Kind.KEYWORD} and lost


def _reason(weighed: str, searched: Sequence[str], skipped: Sequence[SkippedLane]) -> str:
    left_out = [f"{_label(lane)} ({lane.reason})" for lane in skipped]
    parts = [
        weighed,
        f"searched: {', '.join(searched) or 'nothing'}",
        *([f"left out: {', '.join(left_out)}"] if left_out else []),
    ]
    return "; ".join(parts)


def _label(lane: SkippedLane) -> str:
    return f"{lane.kind.value}/{lane.backend}"


def carried_out(
    decision: CorpusRoutingDecision, corpora: Sequence[WiredCorpus], *, fan_out: bool
) -> CorpusRoutingDecision:
    """The corpus decision with the corpora that stand in for others, and whether each is searched by itself."""
    stand_ins = {one.card.corpus: f"stands in for {one.stands_in_for!r}" for one in corpora if one.stands_in_for}
    if not stand_ins:
        return decision if decision.fan_out is fan_out else decision.model_copy(update={"fan_out": fan_out})
    rows = tuple(
        row.model_copy(update={"selected": True, "reason": f"{stand_ins[row.corpus]}, which is down"})
        if row.corpus in stand_ins
        else row
        for row in decision.scores
    )
    told = "; ".join([decision.reason, *(f"{name!r} {reason}" for name, reason in stand_ins.items())])
    selected = tuple(corpus.card.corpus for corpus in corpora)
    return decision.model_copy(
        update={"fan_out": fan_out, "scores": rows, "reason": told, "selected_corpora": selected}
    )
