"""Writes the corpus decision of a query as the answer and the audit show it.

In: candidates in their order with a reason for each. Out: a frozen `CorpusRoutingDecision`. It describes; it decides
nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Strategy, UnconfirmedReason
from fanfuse_contracts.plan import CorpusCandidate, CorpusRoutingDecision, Unconfirmed
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.candidates import Candidate
from fanfuse_corpus_router.domain.cutoff import RUNNERS_UP


@dataclass(frozen=True, slots=True)
class Listing:
    """The candidates that the decision tells of, the first `selected_n` of which are searched, and those shut out.

    `allowed_n`: how many candidates there are that may be searched. `reason` is asked for each position.
    """

    listed: Sequence[Candidate]
    selected_n: int
    allowed_n: int
    reason: Callable[[int], str]
    shut: Sequence[Candidate] = ()


def decide(strategy: Strategy, routing: RoutingConfig, listing: Listing, reason: str) -> CorpusRoutingDecision:
    """The decision; `fan_out` as configured, whether or not two of the selected corpora can share a lane."""
    listed, selected_n, why = listing.listed, listing.selected_n, listing.reason
    return CorpusRoutingDecision.of_checked(
        {
            "strategy": strategy,
            "configured": routing.strategy,
            "selected_corpora": tuple([candidate.card.corpus for candidate in listed[:selected_n]]),
            "scores": (
                *[_row(one, place < selected_n, why(place)) for place, one in enumerate(listed)],
                *[_row(one, False, why_shut(one)) for one in listing.shut[:RUNNERS_UP]],
            ),
            "fan_out": routing.fan_out,
            "candidate_n": listing.allowed_n + len(listing.shut),
            "reason": reason,
        }
    )


def _row(candidate: Candidate, selected: bool, reason: str) -> CorpusCandidate:
    card, score, probability, _, boosts, excludes, _ = candidate
    return CorpusCandidate.of_checked(
        {
            "corpus": card.corpus,
            "score": score,
            "probability": probability,
            "selected": selected,
            "reason": reason,
            "boosted_by": boosts,
            "excluded_by": excludes,
        }
    )


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
