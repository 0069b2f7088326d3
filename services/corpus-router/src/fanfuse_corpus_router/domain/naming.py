"""Names of lanes: short tokens, unique in a plan.

In: kind, corpora and backend. Out: such as `k3f09c1`. A name depends on nothing else, so that two computations of one
plan (a redelivery after a change of health or registry) never give one name to two lanes.
"""

import hashlib
from collections.abc import Container

from fanfuse_contracts.enums import Kind

DIGITS = 6


def lane_name(kind: Kind, corpora: str, backend: str, taken: Container[str] = ()) -> str:
    """The kind's initial and at least six hex digits of the lane's identity; longer if that name is `taken`.

    `corpora`: the lane's corpus, or those of a shared lane, sorted and joined by commas.
    """
    digest = hashlib.sha256(f"{kind}/{corpora}/{backend}".encode()).hexdigest()
    name = kind[0] + digest[:DIGITS]
    while name in taken:
        name = kind[0] + digest[: len(name)]
    return name
