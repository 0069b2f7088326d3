"""Vectors of length 1. In: any vector. Out: its direction; never one that is zero or not finite."""

import math
from collections.abc import Sequence


def unit(vector: Sequence[float]) -> list[float] | None:
    """Length 1, so that no 32-bit square under- or overflows; None without a direction."""
    length = math.hypot(*vector)
    return [value / length for value in vector] if 0.0 < length < math.inf else None
