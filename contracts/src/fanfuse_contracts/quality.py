"""What each lane contributed to answers: counts that can be added up over fusers and over time.

The price of losing a lane is `alone / compared`: the share of hits that nobody else found.
"""

from typing import Annotated

from pydantic import Field

from fanfuse_contracts.base import Event, Model
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.tokens import Token

Count = Annotated[int, Field(ge=0)]


class LaneQuality(Model):
    """One backend's lanes of one corpus. Hits are those of the answers' pages."""

    kind: Kind
    backend: Token
    answers: Count = 0
    """Answers in which the lane replied."""
    lost: Count = 0
    """Answers in which it was lost: failed, late, or left out as unhealthy."""
    compared: Count = 0
    """Hits of the corpus in answers in which this lane and another one replied."""
    found: Count = 0
    """Of these, the hits that this lane found."""
    alone: Count = 0
    """Of these, the hits that no other lane found."""
    seats: Count = 0
    """Hits that a reserved seat of this lane lifted."""

    @property
    def price(self) -> float | None:
        """Share of the corpus's hits that would be lost with this lane; None while nothing was compared."""
        return self.alone / self.compared if self.compared else None

    @property
    def agreement(self) -> float | None:
        """Share of this lane's hits that another lane found as well; None while it found nothing."""
        return 1 - self.alone / self.found if self.found else None


class QualityMeasured(Event):
    """Published on `quality.<tenant>.<corpus>`: what one fuser counted since it last told of this corpus."""

    tenant: Token
    corpus: Token
    lanes: tuple[LaneQuality, ...]
    source: str = ""
    """Instance that counted."""
