"""The decisions of a plan, as the answer shows them.

In: selected corpora and what became of their wired lanes. Out: the fields of a `RoutingDecision` for each, and the
corpus decision as it is carried out. It describes; it decides nothing but `bm25_fallback`.
"""

from collections.abc import Mapping, Sequence

from fanfuse_contracts.corpus import Wiring
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.plan import CorpusRoutingDecision, SkippedLane
from fanfuse_corpus_router.domain.bias import kind_weights
from fanfuse_corpus_router.domain.lanes import WiredCorpus


def describe(corpus: WiredCorpus, shape: Shape, shape_reason: str) -> Mapping[str, object]:
    """The fields of its `RoutingDecision`. `shape` weighs the lanes; `shape_reason` says where it comes from."""
    selected, skipped = corpus.selected, corpus.skipped
    card = selected.card
    searched = [_label(lane.wiring) for lane in corpus.ready]
    kinds = {lane.wiring.kind for lane in corpus.ready}
    lost = [lane for lane in skipped if lane.fallback_reason is not None]
    return {
        "corpus": card.corpus,
        "shape": shape,
        "use_vector": Kind.VECTOR in kinds,
        "use_keyword": Kind.KEYWORD in kinds,
        "use_graph": Kind.GRAPH in kinds,
        "weights": kind_weights(shape, card.backends, selected.kind_weights),
        "degraded_backends": tuple(sorted(map(_label, lost))),
        "bm25_fallback": _is_fallback(kinds, lost),
        "reason": _reason(f"{shape} ({shape_reason})", searched, skipped),
        "source": card.source,
        "corpus_weight": selected.weight,
        "asked": corpus.asked,
        "stands_in_for": corpus.stands_in_for,
    }


def _is_fallback(kinds: set[Kind], lost: Sequence[SkippedLane]) -> bool:
    """Keyword is alone, and a lane of another kind was left out for health (a second keyword engine is none)."""
    return kinds == {Kind.KEYWORD} and any(lane.kind is not Kind.KEYWORD for lane in lost)


def _reason(weighed: str, searched: Sequence[str], skipped: Sequence[SkippedLane]) -> str:
    said = f"{weighed}; searched: {', '.join(searched) or 'nothing'}"
    left_out = [f"{_label(lane)} ({lane.reason})" for lane in skipped]
    return f"{said}; left out: {', '.join(left_out)}" if left_out else said


def _label(lane: Wiring | SkippedLane) -> str:
    return f"{lane.kind}/{lane.backend}"


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
