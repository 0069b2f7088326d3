"""How far down the ranked corpora the search goes.

In: candidates that may be searched, best first, and the routing options. Out: which of them are selected and a reason
for each. Whoever passes comes before whoever does not, so a selection is always a prefix of the order.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fanfuse_contracts import limits
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Strategy
from fanfuse_corpus_router.domain.candidates import Candidate, Order

_ROUNDING = 1.0 + 1e-9
"""Costs such as 0.1 + 0.2 fill a maximum of 0.3 exactly."""


MIN_LISTED = 24
"""Candidates that a decision always lists, best first."""
RUNNERS_UP = 8
"""Candidates listed behind the selected ones, and at most so many of those that may not be searched: a tenant with
thousands of corpora must not fill the answer."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The first `selected_n` of `order` are searched; the first `passed_n` have nothing against them."""

    order: Order
    listed: tuple[Candidate, ...]
    """The first ones, as far as the decision tells of them."""
    passed_n: int
    selected_n: int
    bar: "Bar"

    @property
    def selected(self) -> tuple[Candidate, ...]:
        """What is searched."""
        return self.listed[: self.selected_n]

    def reason(self, position: int) -> str:
        """Why the candidate at this position is selected, or is not."""
        candidate, routing = self.listed[position], self.bar.routing
        if position < self.passed_n:
            return self._praise(position) if position < self.selected_n else self._limit(position)
        objection = self.bar.objection(candidate)
        if position < self.selected_n:
            return f"kept by min_corpora {routing.min_corpora} although {objection}"
        return self._limit(position) if position < routing.min_corpora else objection

    def _praise(self, position: int) -> str:
        candidate, max_cost = self.listed[position], self.bar.routing.max_cost
        dear = position == 0 and 0 < max_cost < candidate.card.cost
        return praise(candidate) + (f", the best one stays although it costs more than {max_cost:g}" if dear else "")

    def _limit(self, position: int) -> str:
        routing = self.bar.routing
        if position >= (ceiling := _ceiling(routing)):
            return f"more than {ceiling} corpora"
        floor = ", which min_corpora does not override" if position < routing.min_corpora else ""
        return f"more than max_cost {routing.max_cost:g} allows{floor}"


@dataclass(frozen=True, slots=True)
class Bar:
    """What a candidate must pass under a strategy."""

    routing: RoutingConfig
    positive: bool
    """Its score must be positive."""
    threshold: float
    """Its probability must reach this."""

    def passes(self, candidate: Candidate) -> bool:
        """True if nothing speaks against a candidate; nothing does where a capability is asked of it."""
        if candidate.asked:
            return True
        return (candidate.score > 0.0 or not self.positive) and candidate.probability >= self.threshold

    def part(self, order: Order) -> tuple[Order, int]:
        """Those that pass, then the rest, each in their order; and how many pass."""
        front, behind = self._split(order.front)
        back, last = self._split(order.back)
        if order.like is not None and self.passes(order.like):
            passed_n = len(front) + len(order.silent) + len(back)
            return replace(order, front=front, back=[*back, *behind, *last]), passed_n
        return replace(order, front=[*front, *back, *behind], back=last), len(front) + len(back)

    def _split(self, candidates: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        passed: list[Candidate] = []
        failed: list[Candidate] = []
        for one in candidates:
            (passed if self.passes(one) else failed).append(one)
        return passed, failed

    def objection(self, candidate: Candidate) -> str:
        """What speaks against a candidate that does not pass."""
        if self.positive and candidate.score <= 0.0:
            return "its score is not positive"
        return f"probability {candidate.probability:.3f} is below score_threshold {self.threshold:g}"


def cut_off(strategy: Strategy, allowed: Order, routing: RoutingConfig) -> Cutoff:
    """Positive score (unless nothing speaks for any) and threshold, then the floor, then the ceiling and the cost."""
    judged = strategy is not Strategy.ALL
    # Where rules only excluded, nothing speaks for one of the others: all of them are candidates.
    positive = judged and (strategy is Strategy.LEARNED or any(one.boosts for one in allowed.spoken_of))
    bar = Bar(routing, positive, routing.score_threshold if judged else 0.0)
    order, passed_n = bar.part(allowed)
    wanted = min(max(passed_n, routing.min_corpora), len(order), _ceiling(routing))
    listed = order.first(max(MIN_LISTED, wanted + RUNNERS_UP))
    selected_n = affordable(listed[:wanted], routing.max_cost)
    return Cutoff(order, listed[: max(MIN_LISTED, selected_n + RUNNERS_UP)], passed_n, selected_n, bar)


def _ceiling(routing: RoutingConfig) -> int:
    return min(routing.max_corpora or limits.MAX_CORPORA_PER_QUERY, limits.MAX_CORPORA_PER_QUERY)


def affordable(wanted: Sequence[Candidate], max_cost: float) -> int:
    """How many of the first may be searched for `max_cost` (0: unbounded); the best one always may."""
    if not max_cost:
        return len(wanted)
    costs = [candidate.card.cost for candidate in wanted]
    return next((n for n in range(1, len(costs)) if math.fsum(costs[: n + 1]) > max_cost * _ROUNDING), len(costs))


def praise(candidate: Candidate) -> str:
    """What speaks for a candidate."""
    boosted = f", boosted by rule {', '.join(candidate.boosts)}" if candidate.boosts else ""
    asked = f", asked for {', '.join(one.capability for one in candidate.asked)}" if candidate.asked else ""
    return f"probability {candidate.probability:.3f}{boosted}{asked}"
