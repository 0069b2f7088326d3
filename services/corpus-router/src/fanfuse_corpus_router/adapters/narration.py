"""Tells a routing decision to traces and logs.

In: a decision. Out: attributes of the span `corpus.route` and of the log event that mirrors it. No text, query id or
principal is among them.
"""

from collections.abc import Mapping
from typing import Final

from fanfuse_contracts.plan import Plan, Rejection

SPAN: Final = "corpus.route"
EVENT: Final = "corpus.route_decision"

_PREFIX: Final = "rag.corpus_route"

Attribute = str | bool | int | float | tuple[str, ...]


def attributes(outcome: Plan | Rejection, elapsed_ms: float) -> Mapping[str, Attribute]:
    """What is said of one decision; `elapsed_ms` is the time it took to make."""
    rounded = round(elapsed_ms, 3)
    if isinstance(outcome, Rejection):
        return {f"{_PREFIX}.rejected": outcome.code.value, f"{_PREFIX}.elapsed_ms": rounded}
    decision = outcome.corpus_decision
    return {
        f"{_PREFIX}.strategy": decision.strategy.value,
        f"{_PREFIX}.candidate_n": decision.candidate_n,
        f"{_PREFIX}.selected_n": len(decision.selected_corpora),
        f"{_PREFIX}.fan_out": decision.fan_out,
        f"{_PREFIX}.selected": decision.selected_corpora,
        f"{_PREFIX}.lanes_n": len(outcome.lanes),
        f"{_PREFIX}.elapsed_ms": rounded,
    }
