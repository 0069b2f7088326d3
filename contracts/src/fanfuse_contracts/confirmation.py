"""Whose word counts: the kinds of truth that must confirm the answer of a query.

In: what was decided for each selected corpus. Out: kinds of source. The router asks before any call, the fuser once
more when the lanes have come; both ask here, so that the rule is one. It looks at no health and no reply.
"""

from collections.abc import Sequence
from typing import Protocol

from fanfuse_contracts.enums import SourceKind


class Decided(Protocol):
    """What the rule needs of a `RoutingDecision`."""

    @property
    def source(self) -> SourceKind:
        """The kind of truth that the corpus holds."""
        ...

    @property
    def asked(self) -> tuple[str, ...]:
        """Capabilities that the query asks of it."""
        ...


def primary_kinds(decisions: Sequence[Decided], *, pinned: bool) -> frozenset[SourceKind]:
    """The kinds of the primary corpora; empty without decisions. `decisions` stand in the order of selection.

    Primary are the corpora with an asked capability. Where nothing is asked: the first one, or every one if the caller
    pinned them (`pinned`: the query has `corpora`; an earlier `decision` is no pin). Where a primary corpus is lost and
    no corpus of these kinds can answer, hits of other kinds must not be shown: the answer could not be confirmed.
    """
    asked = frozenset(decision.source for decision in decisions if decision.asked)
    if asked:
        return asked
    return frozenset(decision.source for decision in (decisions if pinned else decisions[:1]))
