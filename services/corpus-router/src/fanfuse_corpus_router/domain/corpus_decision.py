"""Writes the corpus decision of a query as the answer and the audit show it.

In: candidates in their order with a reason for each. Out: a frozen `CorpusRoutingDecision`. It describes; it decides
nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fanfuse_contracts import limits
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Strategy, UnconfirmedReason
from fanfuse_contracts.plan import CorpusRoutingDecision, Unconfirmed
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.candidates import Candidate

MAX_LISTED_CANDIDATES = limits.MAX_CORPORA_PER_QUERY + 8
"""Candidates kept in a decision, best first: a tenant with thousands of corpora must not fill the answer."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Every candidate, the first `selected_n` of which are searched; `reason` is asked for those that are listed."""

    candidates: Sequence[Candidate]
    selected_n: int
    reason: Callable[[int], str]


def decide(strategy: Strategy, routing: RoutingConfig, listing: Listing, reason: str) -> CorpusRoutingDecision:
    """The decision; `fan_out` says that every selected corpus is searched in lanes of its own."""
    # Rows are validated with the decision, in one go: half the time of one model after the other.
    return CorpusRoutingDecision.model_validate(
        {
            "strategy": strategy,
            "configured": routing.strategy,
            "selected_corpora": tuple(one.card.corpus for one in listing.candidates[: listing.selected_n]),
            "scores": tuple(
                _row(candidate, position < listing.selected_n, listing.reason(position))
                for position, candidate in enumerate(listing.candidates[:MAX_LISTED_CANDIDATES])
            ),
            "fan_out": True,
            "candidate_n": len(listing.candidates),
            "reason": reason,
        }
    )


def _row(candidate: Candidate, selected: bool, reason: str) -> dict[str, object]:
    """The fields of a `CorpusCandidate`."""
    return {
        "corpus": candidate.card.corpus,
        "score": candidate.score,
        "probability": candidate.probability,
        "selected": selected,
        "reason": reason,
        "boosted_by": candidate.boosts,
        "excluded_by": candidate.excludes,
    }


def why_shut(candidate: Candidate) -> str:
    """Why a corpus may not be searched."""
    if excludes := candidate.excludes:
        return f"excluded by rule {rejections.listed(excludes)}"
    return out_of_scope_message(candidate)


def out_of_scope(candidates: Sequence[Candidate]) -> tuple[Unconfirmed, ...]:
    """The candidates that cannot confirm what is asked, in their order."""
    return tuple(
        Unconfirmed(
            corpus=candidate.card.corpus,
            reason=UnconfirmedReason.OUT_OF_SCOPE,
            message=out_of_scope_message(candidate),
        )
        for candidate in candidates
        if candidate.topics
    )


def out_of_scope_message(candidate: Candidate) -> str:
    """The one wording for a topic that a card refuses."""
    return f"its card says that it cannot confirm {rejections.listed(map(repr, candidate.topics))}"
