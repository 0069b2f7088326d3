"""How far down the ranked corpora the search goes.

In: candidates that may be searched, best first, and the routing options. Out: how many of them are selected and a
reason for each. All limits are monotone in the rank, so a selection is always a prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fanfuse_contracts import limits
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Strategy
from fanfuse_corpus_router.domain.candidates import Candidate


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The first `selected_n` candidates are searched; `reasons` has one line per candidate."""

    selected_n: int
    reasons: tuple[str, ...]


def cut_off(strategy: Strategy, allowed: Sequence[Candidate], routing: RoutingConfig) -> Cutoff:
    """Positive score (unless nothing speaks for any), threshold, then the floor, then the ceiling."""
    judged = strategy is not Strategy.ALL
    # Where rules only excluded, nothing speaks for one of the others: all of them are candidates.
    needs_score = strategy is Strategy.LEARNED or any(candidate.boosts for candidate in allowed)
    objections = [_objection(candidate, routing, judged, judged and needs_score) for candidate in allowed]
    passed = sum(1 for objection in objections if objection is None)
    floor = min(routing.min_corpora, len(allowed))
    ceiling = min(routing.max_corpora or limits.MAX_CORPORA_PER_QUERY, limits.MAX_CORPORA_PER_QUERY)
    selected_n = min(max(passed, floor), ceiling)
    reasons = tuple(
        _reason(candidate, objection, position < selected_n, routing, ceiling)
        for position, (candidate, objection) in enumerate(zip(allowed, objections, strict=True))
    )
    return Cutoff(selected_n, reasons)


def _objection(candidate: Candidate, routing: RoutingConfig, judged: bool, needs_score: bool) -> str | None:
    if needs_score and candidate.score <= 0.0:
        return "its score is not positive"
    if judged and candidate.probability < routing.score_threshold:
        return f"probability {candidate.probability:.3f} is below score_threshold {routing.score_threshold:g}"
    return None


def _reason(candidate: Candidate, objection: str | None, selected: bool, routing: RoutingConfig, ceiling: int) -> str:
    match (selected, objection):
        case (True, None):
            boosted = f", boosted by rule {', '.join(candidate.boosts)}" if candidate.boosts else ""
            return f"probability {candidate.probability:.3f}{boosted}"
        case (True, _):
            return f"kept by min_corpora {routing.min_corpora} although {objection}"
        case (_, None):
            return f"more than {ceiling} corpora"
        case _:
            return objection or ""
