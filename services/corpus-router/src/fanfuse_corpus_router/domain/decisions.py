"""The decisions of a plan, as the answer shows them.

In: selected corpora with their lanes. Out: a `RoutingDecision` for each, and the corpus decision as it is carried out.
It describes; it decides nothing.
"""

from collections.abc import Sequence

from fanfuse_contracts.plan import CorpusRoutingDecision, RoutingDecision
from fanfuse_corpus_router.domain.lanes import WiredCorpus


def described(corpus: WiredCorpus, weighed: str) -> RoutingDecision:
    """The decision of one corpus. `weighed`: the shape, and where it comes from."""
    fields = corpus.lanes.decision.copy()
    fields["reason"] = f"{weighed}; {fields['reason']}"
    fields["corpus_weight"] = corpus.selected.weight
    fields["asked"] = corpus.asked
    fields["stands_in_for"] = corpus.stands_in_for
    return RoutingDecision.of_checked(fields)


def carried_out(decision: CorpusRoutingDecision, corpora: Sequence[WiredCorpus]) -> CorpusRoutingDecision:
    """The corpus decision with the corpora that stand in for others."""
    stand_ins = {one.card.corpus: f"stands in for {one.stands_in_for!r}" for one in corpora if one.stands_in_for}
    if not stand_ins:
        return decision
    rows = tuple(
        row.model_copy(update={"selected": True, "reason": f"{stand_ins[row.corpus]}, which is down"})
        if row.corpus in stand_ins
        else row
        for row in decision.scores
    )
    told = "; ".join([decision.reason, *(f"{name!r} {reason}" for name, reason in stand_ins.items())])
    selected = tuple(corpus.card.corpus for corpus in corpora)
    return decision.model_copy(update={"scores": rows, "reason": told, "selected_corpora": selected})
