"""How far down the ranked corpora the search goes.

In: candidates that may be searched, best first, and the routing options. Out: which of them are selected and a reason
for each. Whoever passes comes before whoever does not, so a selection is always a prefix of the order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fanfuse_contracts import limits
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Strategy
from fanfuse_corpus_router.domain.candidates import Candidate

_ROUNDING = 1.0 + 1e-9
"""Costs such as 0.1 + 0.2 fill a maximum of 0.3 exactly."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The first `selected_n` of `order` are searched; the first `passed_n` have nothing against them."""

    order: tuple[Candidate, ...]
    passed_n: int
    selected_n: int
    bar: "Bar"

    def reason(self, position: int) -> str:
        """Why the candidate at this position is selected, or is not."""
        candidate, routing = self.order[position], self.bar.routing
        if position < self.passed_n:
            return self._praise(position) if position < self.selected_n else self._limit(position)
        objection = self.bar.objection(candidate)
        if position < self.selected_n:
            return f"kept by min_corpora {routing.min_corpora} although {objection}"
        return self._limit(position) if position < routing.min_corpora else objection

    def _praise(self, position: int) -> str:
        candidate, max_cost = self.order[position], self.bar.routing.max_cost
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

    def part(self, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """Those that nothing speaks against, and the rest; nothing does where a capability is asked for."""
        above, threshold = (0.0 if self.positive else -math.inf), self.threshold
        passed: list[Candidate] = []
        failed: list[Candidate] = []
        for one in candidates:
            passes = one.asked or (one.score > above and one.probability >= threshold)
            (passed if passes else failed).append(one)
        return passed, failed

    def objection(self, candidate: Candidate) -> str:
        """What speaks against a candidate that does not pass."""
        if self.positive and candidate.score <= 0.0:
            return "its score is not positive"
        return f"probability {candidate.probability:.3f} is below score_threshold {self.threshold:g}"


def cut_off(strategy: Strategy, allowed: Sequence[Candidate], routing: RoutingConfig) -> Cutoff:
    """Positive score (unless nothing speaks for any) and threshold, then the floor, then the ceiling and the cost."""
    judged = strategy is not Strategy.ALL
    # Where rules only excluded, nothing speaks for one of the others: all of them are candidates.
    positive = judged and (strategy is Strategy.LEARNED or any(candidate.boosts for candidate in allowed))
    bar = Bar(routing, positive, routing.score_threshold if judged else 0.0)
    passed, failed = bar.part(allowed)
    order = (*passed, *failed)
    wanted = min(max(len(passed), routing.min_corpora), len(order), _ceiling(routing))
    return Cutoff(order, len(passed), affordable(order[:wanted], routing.max_cost), bar)


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
