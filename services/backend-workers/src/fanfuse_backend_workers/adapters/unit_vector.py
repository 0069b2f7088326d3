"""Vectors of length 1. In: any vector. Out: its direction; never one that is zero or not finite."""

import math
from collections.abc import Sequence

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind


def unit(vector: Sequence[float]) -> list[float] | None:
    """Length 1, so that no 32-bit square under- or overflows; None without a direction."""
    length = math.hypot(*vector)
    return [value / length for value in vector] if 0.0 < length < math.inf else None


def query_direction(vector: Sequence[float] | None) -> list[float]:
    """The direction of a query vector. Raises `SearchError`: EMBEDDER without one, BAD_REQUEST for none to speak of."""
    if not vector:
        raise SearchError(FailureKind.EMBEDDER, "there is no query vector: the embedder gave none")
    direction = unit(vector)
    if direction is None:
        raise SearchError(FailureKind.BAD_REQUEST, "the query vector has no direction: zero or not finite")
    return direction
