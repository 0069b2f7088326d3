"""Weights of the three kinds of backend."""

from fanfuse_contracts.base import Weight, Written
from fanfuse_contracts.enums import Kind


class Weights(Written):
    """One weight per kind."""

    vector: Weight = 1.0
    keyword: Weight = 1.0
    graph: Weight = 1.0

    def of(self, kind: Kind) -> float:
        """Weight of one kind."""
        weight: float = getattr(self, kind)  # the fields are named after the kinds
        return weight
