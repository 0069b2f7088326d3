"""What a selection is: the corpora to search with their weights, and what planning needs to know of the others.

In: nothing. Out: frozen data that selection makes and planning reads. It decides nothing.
"""

from dataclasses import dataclass
from typing import NamedTuple

from fanfuse_contracts.classification import AskedCapability
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Shape
from fanfuse_contracts.plan import CorpusRoutingDecision, Unconfirmed
from fanfuse_contracts.weights import Weights


class SelectedCorpus(NamedTuple):
    """A corpus to search and its share of the relevance (1.0 for a single one)."""

    card: CorpusCard
    weight: float
    kind_weights: Weights | None = None
    """Of an earlier decision: they stand in place of wiring weight × bias, and 0 switches a kind off."""
    asked: tuple[AskedCapability, ...] = ()
    """What the query asks of it: what the text asks for, or the one capability that the query names."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The decision for the answer, and what is searched, best first."""

    decision: CorpusRoutingDecision
    corpora: tuple[SelectedCorpus, ...]
    shape: Shape
    """The shape that weighs the lanes: that of the text, or of an earlier decision."""
    standby: tuple[CorpusCard, ...] = ()
    """Corpora that a selected one names as its fallbacks and that are not selected themselves, best first. Visible, not
    excluded, not held back, within their scope. Empty under a pin or an earlier decision: these and no other."""
    unconfirmed: tuple[Unconfirmed, ...] = ()
    """OUT_OF_SCOPE: the card says that it cannot confirm what is asked. Left out, or pinned and searched anyway."""
