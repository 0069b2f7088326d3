"""How the ranked lists of a query become one: the operator's section `retrieval.fusion`, and what an answer tells.

Source: docs/adr/0011-fusion-policy.md.
"""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from fanfuse_contracts import limits
from fanfuse_contracts.base import Model, Written
from fanfuse_contracts.enums import ClosedSet

MIN_RRF_K: Final = 9
"""Below this one lane's lone first hit beats, or ties with, what two equal lanes both have in their top ten."""
MAX_RRF_K: Final = 1_000
MAX_RESERVED_SEATS: Final = 5


class FusionPolicy(ClosedSet):
    """What a lane of weight w adds to the score of a hit."""

    RRF = "rrf"
    """w / (k + rank): the weight scales the vote."""
    RRF_RANK = "rrf_rank"
    """1 / (k + rank / w): the weight stretches the rank, so that every lane's first hits stay near the top."""
    MINMAX = "minmax"
    """w × the engine's own score, brought to 0 to 1 within the lane."""

    @property
    def ranked(self) -> bool:
        """True if ranks decide, and k with them."""
        return self is not FusionPolicy.MINMAX


class FusionConfig(Written):
    """Section `retrieval.fusion`."""

    policy: FusionPolicy = FusionPolicy.MINMAX
    """What a lane of weight w adds to the score of a hit. `rrf`: w / (k + rank). `rrf_rank`: 1 / (k + rank / w).
    `minmax`: w × the engine's score, brought to 0 to 1 within the lane."""
    k: Annotated[int, Field(ge=MIN_RRF_K, le=MAX_RRF_K, strict=True)] = limits.RRF_K
    """Of `rrf` and `rrf_rank`: the higher, the less the first ranks stand out."""
    reserved_seats: Annotated[int, Field(ge=0, le=MAX_RESERVED_SEATS)] = 1
    """So many first hits of each lane are kept in the first ten of the fused list, whatever their score; at most five
    hits are lifted so."""
    collapse: bool = True
    """Equal content in several corpora is one hit that names the others in `also_in`."""

    @model_validator(mode="after")
    def _k_has_an_effect(self) -> Self:
        # The default may stand there: a configuration that is printed whole can be read back.
        if not self.policy.ranked and self.k != limits.RRF_K:
            raise ValueError(
                f"k has no effect under policy {self.policy.value}: leave it out, or state rrf or rrf_rank"
            )
        return self


class FusionApplied(Model):
    """What made the order of an answer: its contributions can be worked out again from this."""

    policy: FusionPolicy
    k: int | None = None
    """None where the policy has no k."""
    reserved_seats: int = 0
    collapse: bool = True

    @classmethod
    def of(cls, config: FusionConfig) -> Self:
        """The configuration as an answer tells it."""
        return cls(
            policy=config.policy,
            k=config.k if config.policy.ranked else None,
            reserved_seats=config.reserved_seats,
            collapse=config.collapse,
        )
