"""A routing decision as a person reads it.

In: what `decide` or the offline router said. Out: text. The first lines are fixed, so that scripts may rely on them.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape

from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import Clarification, DecideReply, Plan, RoutingDecision


def render_decision(reply: DecideReply) -> RenderableType:
    """Shape, corpora, and per selected corpus what is used, with which weights, and why."""
    return Group(*map(escape, _lines(reply)))


def _lines(reply: DecideReply) -> Iterator[str]:
    yield from outcome_lines(reply)
    if reply.plan is not None:
        yield from _plan_lines(reply.plan)


def outcome_lines(reply: DecideReply) -> Iterator[str]:
    """Shape, and why there is no plan where there is none."""
    if reply.classification is not None:
        yield f"shape {reply.classification.shape.value} ({reply.classification.reason})"
    if reply.rejection is not None:
        yield f"rejected {reply.rejection.code.value}: {reply.rejection.message}"
    if reply.clarification is not None:
        yield from clarification_lines(reply.clarification)


def clarification_lines(clarification: Clarification) -> Iterator[str]:
    """What is missing, or what the query could mean, and how to say so."""
    yield f"clarify: {clarification.message}"
    for missing in clarification.missing:
        how = f"; state it as a filter on {missing.field!r}" if missing.field else ""
        yield f"  missing {missing.argument} for {missing.corpus}/{missing.capability}: {missing.description}{how}"
    for option in clarification.options:
        about = f": {option.description}" if option.description else ""
        yield f"  could mean {option.capability} of {option.corpus} ({option.source.value}){about}"


def _plan_lines(plan: Plan) -> Iterator[str]:
    chosen = plan.corpus_decision
    selected = ", ".join(chosen.selected_corpora)
    strategy = f"{chosen.strategy.value}, configured {chosen.configured.value}"
    yield f"corpora {selected} of {chosen.candidate_n} ({strategy}: {chosen.reason})"
    for decision in plan.decisions:
        yield from decision_lines(decision)
    for one in plan.unconfirmed:
        yield f"not confirmed {one.corpus} ({one.reason.value}): {one.message}"
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
