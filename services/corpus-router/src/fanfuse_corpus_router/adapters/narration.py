"""Tells a routing decision to traces and logs.

In: a decision. Out: attributes of the span `corpus.route` and of the log event that mirrors it. No text, query id or
principal is among them.
"""

from collections.abc import Mapping
from typing import Final

from fanfuse_contracts.plan import Clarification, Plan, Rejection

EVENT: Final = "corpus.route_decision"

_PREFIX: Final = "rag.corpus_route"

Attribute = str | bool | int | float | tuple[str, ...]


def attributes(outcome: Plan | Clarification | Rejection, elapsed_ms: float) -> Mapping[str, Attribute]:
    """What is said of one decision; `elapsed_ms` is the time it took to make."""
    return {
        f"{_PREFIX}.{name}": value for name, value in (_facts(outcome) | {"elapsed_ms": round(elapsed_ms, 3)}).items()
    }


def _facts(outcome: Plan | Clarification | Rejection) -> dict[str, Attribute]:
    if isinstance(outcome, Rejection):
        return {"rejected": outcome.code.value}
    if isinstance(outcome, Clarification):
        return {"clarify": "missing_argument" if outcome.missing else "ambiguous"}
    decision = outcome.corpus_decision
    return {
        "strategy": decision.strategy.value,
        "candidate_n": decision.candidate_n,
        "selected_n": len(decision.selected_corpora),
        "fan_out": decision.fan_out,
        "selected": decision.selected_corpora,
        "results_n": len(outcome.lanes),
    }
