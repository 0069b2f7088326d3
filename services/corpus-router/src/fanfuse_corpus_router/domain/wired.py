"""The wired lanes of a card, as far as no query changes them.

In: a card and what holds for its tenant. Out: frozen lanes, each with its name and the fields that its `Lane` always
has. Nothing here depends on a query or on health.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.filters import digest_of
from fanfuse_contracts.plan import SkippedLane
from fanfuse_contracts.quorum import Requirement
from fanfuse_corpus_router.domain.naming import lane_name

LaneKey = tuple[str, Kind, str]
"""Corpus, kind and backend."""

_KIND_ORDER = {kind: position for position, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True, eq=False)
class WiredLane:
    """A corpus on one backend."""

    key: LaneKey
    """No two lanes of a query have the same."""
    wiring: Wiring
    embedder: EmbedderSpec | None
    searched_with: tuple[Kind, bytes]
    """Lanes for which this is equal have the same input: the kind, and of vector lanes the embedder's `spec_of`."""
    requirement: Requirement
    label: str
    """`kind/backend`."""
    identity: object
    """Lanes of equal identity can be searched in one call."""
    alone: tuple[str, ...]
    """Its corpus, as a search of it alone has it."""
    fields: dict[str, Any]
    """Those of its `Lane`, in the order of the class, where the query has no filter; weight and window are the query's
    own."""
    told: dict[str, Any]
    """What of it stands in its command, where the query has no filter."""


def wired_lanes(card: CorpusCard, of_tenant: Mapping[Kind, Requirement]) -> tuple[WiredLane, ...]:
    """By kind (vector, keyword, graph), then by backend, however the card was written.

    `of_tenant`: what holds where the card states no requirement.
    """
    spec = spec_of(card.embedder)
    return tuple(
        _wired(card, spec, one, one.requirement or of_tenant[one.kind]) for one in sorted(card.backends, key=order)
    )


def _wired(card: CorpusCard, spec: bytes, wiring: Wiring, requirement: Requirement) -> WiredLane:
    corpus, kind, backend = card.corpus, wiring.kind, wiring.backend
    name, digest = lane_name(kind, corpus, backend), digest_of(card.tenant, corpus, "")
    return WiredLane(
        key=(corpus, kind, backend),
        wiring=wiring,
        embedder=card.embedder,
        searched_with=(kind, spec if kind is Kind.VECTOR else b""),
        requirement=requirement,
        label=label(wiring),
        identity=_identity(card, spec, wiring),
        alone=(corpus,),
        fields={
            "name": name,
            "corpus": corpus,
            "corpora": (),
            "kind": kind,
            "backend": backend,
            "pool": wiring.pool,
            "weight": wiring.weight,
            "window": 0,
            "filter_digest": digest,
            "requirement": requirement,
        },
        told={
            "lane": name,
            "corpus": corpus,
            "corpora": (),
            "kind": kind,
            "backend": backend,
            "filter_digest": digest,
        },
    )


def _identity(card: CorpusCard, spec: bytes, wiring: Wiring) -> object:
    if not wiring.shared:
        return card.corpus, wiring.kind, wiring.backend
    return wiring.kind, wiring.backend, wiring.pool, spec if wiring.kind is Kind.VECTOR else b""


def spec_of(embedder: EmbedderSpec | None) -> bytes:
    """The JSON of an embedder; empty for none."""
    return embedder.to_json() if embedder is not None else b""


def order(lane: Wiring | SkippedLane) -> tuple[int, str]:
    """Place among the lanes of a corpus."""
    return _KIND_ORDER[lane.kind], lane.backend


def label(lane: Wiring | SkippedLane) -> str:
    """`kind/backend`."""
    return f"{lane.kind}/{lane.backend}"
