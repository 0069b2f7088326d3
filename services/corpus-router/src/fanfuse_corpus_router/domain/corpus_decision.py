"""Writes the corpus decision of a query as the answer and the audit show it.

In: candidates in their order with a reason for each. Out: a frozen `CorpusRoutingDecision`. It describes; it decides
nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Strategy, UnconfirmedReason
from fanfuse_contracts.plan import CorpusRoutingDecision, Unconfirmed
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.candidates import Candidate

MIN_LISTED = 24
"""Candidates that a decision always lists, best first."""
RUNNERS_UP = 8
"""Candidates listed behind the selected ones, and at most so many of those that may not be searched: a tenant with
thousands of corpora must not fill the answer."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Candidates, the first `selected_n` of which are searched, and those that may not be searched.

    `reason` is asked for the position of each of the first that is listed.
    """

    candidates: Sequence[Candidate]
    selected_n: int
    reason: Callable[[int], str]
    shut: Sequence[Candidate] = ()


def decide(strategy: Strategy, routing: RoutingConfig, listing: Listing, reason: str) -> CorpusRoutingDecision:
    """The decision; `fan_out` says that every selected corpus is searched in lanes of its own."""
    candidates, selected_n = listing.candidates, listing.selected_n
    shown = candidates[: max(MIN_LISTED, selected_n + RUNNERS_UP)]
    # Rows are validated with the decision, in one go: half the time of one model after the other.
    return CorpusRoutingDecision.model_validate(
        {
            "strategy": strategy,
            "configured": routing.strategy,
            "selected_corpora": tuple(candidate.card.corpus for candidate in candidates[:selected_n]),
            "scores": (
                *[_row(one, place < selected_n, listing.reason(place)) for place, one in enumerate(shown)],
                *[_row(one, False, why_shut(one)) for one in listing.shut[:RUNNERS_UP]],
            ),
            "fan_out": True,
            "candidate_n": len(candidates) + len(listing.shut),
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
