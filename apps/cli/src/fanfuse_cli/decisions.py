"""A routing decision as a person reads it.

In: what `decide` or the offline router said. Out: text. The first lines are fixed, so that scripts may rely on them.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape

from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import DecideReply, Plan, RoutingDecision


def render_decision(reply: DecideReply) -> RenderableType:
    """Shape, corpora, and per selected corpus what is used, with which weights, and why."""
    return Group(*map(escape, _lines(reply)))


def _lines(reply: DecideReply) -> Iterator[str]:
    if reply.classification is not None:
        yield f"shape {reply.classification.shape.value} ({reply.classification.reason})"
    if reply.rejection is not None:
        yield f"rejected {reply.rejection.code.value}: {reply.rejection.message}"
    if reply.plan is not None:
        yield from _plan_lines(reply.plan)


def _plan_lines(plan: Plan) -> Iterator[str]:
    chosen = plan.corpus_decision
    selected = ", ".join(chosen.selected_corpora)
    yield f"corpora {selected} of {chosen.candidate_n} ({chosen.strategy.value}: {chosen.reason})"
    for decision in plan.decisions:
        yield from decision_lines(decision)
    for skipped in plan.skipped:
        yield f"{skipped.outcome.value} {skipped.corpus} {skipped.kind.value}/{skipped.backend}: {skipped.reason}"


def decision_lines(decision: RoutingDecision) -> Iterator[str]:
    """One corpus: weights, selected kinds, degraded kinds, fallback."""
    used = {Kind.VECTOR: decision.use_vector, Kind.KEYWORD: decision.use_keyword, Kind.GRAPH: decision.use_graph}
    weights = decision.weights
    yield f"corpus {decision.corpus}"
    yield f"  weights v={weights.vector:.2f} k={weights.keyword:.2f} g={weights.graph:.2f}"
    yield f"  selected {', '.join(kind.value for kind in Kind if used[kind]) or 'none'}"
    yield f"  degraded {sorted({name.partition('/')[0] for name in decision.degraded_backends})}"
    yield f"  bm25_fb {decision.bm25_fallback}"
    yield f"  reason {decision.reason}"
