"""Fusion policies: the hits of one lane in, the value of each hit's vote out.

A policy looks at one lane at a time, so its votes depend on nothing that another lane found or when it came.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple, Protocol

from fanfuse_contracts.fusion import FusionApplied, FusionConfig, FusionPolicy


class Found(Protocol):
    """What a policy sees of hits: two columns, item by item."""

    @property
    def ranks(self) -> Sequence[int]:
        """From 1."""

    @property
    def scores(self) -> Sequence[float]:
        """The engine's own."""


class Scale(NamedTuple):
    """What all hits of a lane have in common. No hits: 0, 0, 0."""

    hits: int
    lowest: float
    highest: float


class Policy(Protocol):
    """How much a lane's hits count."""

    def values(self, weight: float, found: Found, scale: Scale) -> list[float]:
        """One finite value ≥ 0 per hit, in the order of `found`. `weight` > 0. `scale`: of the lane's whole list."""

    def best(self, weight: float) -> float:
        """The most that a lane of this weight can add to a hit, whatever it finds."""


class Rrf:
    """weight / (k + rank). Source: Cormack, Clarke and Büttcher, "Reciprocal rank fusion", SIGIR 2009."""

    def __init__(self, k: int) -> None:
        self._k = _checked(k)

    def values(self, weight: float, found: Found, scale: Scale) -> list[float]:
        """Falls with the rank."""
        k = self._k
        return [weight / (k + rank) for rank in found.ranks]

    def best(self, weight: float) -> float:
        """That of rank 1."""
        return weight / (self._k + 1)


class RrfRank:
    """1 / (k + rank / weight): a light lane's first hit stands where a lane of weight 1 has its rank 1 / weight."""

    def __init__(self, k: int) -> None:
        self._k = _checked(k)

    def values(self, weight: float, found: Found, scale: Scale) -> list[float]:
        """Falls with the rank; never above 1 / k, whatever the weight."""
        k = self._k
        return [1.0 / (k + rank / weight) for rank in found.ranks]

    def best(self, weight: float) -> float:
        """That of rank 1."""
        return 1.0 / (self._k + 1 / weight)


class MinMax:
    """weight × (s + (1 - s) × x), s = 1 / n of the n hits that came, x = (score - lowest) / (highest - lowest).

    The first hit counts 1 (s + (1 - s) is 1 also in doubles), the last 1 / n: what the lane lacks, which counts 0, is
    taken to lie one mean step below the last, so that a short list's last hit is still a find. A lone hit counts 1.
    Scores that are all equal tell no better from worse: x is 1/2. Negative scores are scores like any other. A cut list
    is brought to 0 to 1 over what came.
    """

    def values(self, weight: float, found: Found, scale: Scale) -> list[float]:
        """Rises with the engine's score."""
        scores, (count, lowest, highest) = found.scores, scale
        if not scores:
            return []
        share = 1.0 / count
        rest = 1.0 - share
        if lowest == highest:
            return [weight * (share + rest * 0.5)] * len(scores)
        if highest - lowest == inf:  # halves of the ends of the range can be told apart
            scores, lowest, highest = [score / 2 for score in scores], lowest / 2, highest / 2
        span = highest - lowest
        return [weight * (share + rest * ((score - lowest) / span)) for score in scores]

    def best(self, weight: float) -> float:
        """That of the highest score, which several hits may have."""
        return weight


def build_policy(config: FusionConfig | FusionApplied) -> Policy:
    """The policy that a configuration, or an answer, names."""
    match config.policy:
        case FusionPolicy.RRF:
            return Rrf(_checked(config.k))
        case FusionPolicy.RRF_RANK:
            return RrfRank(_checked(config.k))
        case FusionPolicy.MINMAX:
            return MinMax()


def _checked(k: int | None) -> int:
    """Raises `ValueError` unless k is an int > 0."""
    if k is None or type(k) is not int or k < 1:
        raise ValueError(f"k is {k!r}: reciprocal rank fusion takes an integer above zero")
    return k
