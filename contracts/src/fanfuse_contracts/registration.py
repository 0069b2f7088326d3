"""Corpora as an operator writes them in `fanfuse.yaml`, and the cards made of them.

In: sections `corpora` and `backends`. Out: capability cards without an index: what `index` knows (generation, chunks,
time) is never in the file.
"""

import difflib
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from fanfuse_contracts.backends import DEFAULT_BACKEND, BackendsConfig
from fanfuse_contracts.base import MAX_WEIGHT, FiniteFloat, Written
from fanfuse_contracts.capability import Capability, Topic
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType
from fanfuse_contracts.enums import Kind, SourceKind
from fanfuse_contracts.faults import Fault, refuse, repeated
from fanfuse_contracts.filters import FieldName
from fanfuse_contracts.quorum import BackendName, CorpusQuorum
from fanfuse_contracts.tokens import Token
from fanfuse_contracts.weights import Weights

Role = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
"""Never blank: a blank one would look like a list that lets nobody in, or everybody."""


class CardConfig(Written):
    """The capability card of a corpus in the file."""

    source: SourceKind = SourceKind.REFERENCE
    """The kind of truth it holds. Another kind never stands in for it."""
    can_answer: tuple[Capability, ...] = ()
    """What queries may ask of it, with the arguments each needs."""
    cannot_confirm: tuple[Topic, ...] = ()
    """What it must not be asked, although its text may speak of it."""
    fields: dict[FieldName, FieldType] = {}
    """Metadata that a query may filter by, with its type."""
    freshness_s: Annotated[int, Field(gt=0)] | None = None
    """Text indexed longer ago than this counts as stale, and the answer says so. None: never."""
    fallbacks: tuple[Token, ...] = ()
    """Corpora of the same tenant and kind of truth that may stand in while every backend of this one is down."""
    cost: Annotated[float, Field(ge=0.0, le=MAX_WEIGHT, allow_inf_nan=False)] = 0.0
    """Relative price of one search, counted against `retrieval.routing.max_cost`."""
    scopes: frozenset[Token] = frozenset()
    """Domains and content types it belongs to, by their names in `retrieval.routing.scopes`."""
    public: bool = False
    """True: readable without a principal."""
    readers: frozenset[Role] = frozenset()
    """Roles that may read it. Empty and not public: any stated principal of the tenant. Where neither `public` nor
    `readers` is written down, `corpus seed` leaves who may read a registered corpus as it is."""

    @property
    def says_who_may_read(self) -> bool:
        """True if `public` or `readers` is written down, be it as the default."""
        return not self.model_fields_set.isdisjoint({"public", "readers"})


class CorpusConfig(Written):
    """One corpus of the section `corpora`."""

    id: Token
    """Its name: unique within the tenant."""
    tenant_id: Token
    """Who owns it."""
    display_name: str = ""
    """Its name for people."""
    description: str = ""
    """What is in it, for people."""
    card: CardConfig = CardConfig()
    """What it can be asked, and by whom."""
    term_weights: dict[str, FiniteFloat] = {}
    """Terms (lower case) that speak for it, with their weight: the default scorer's model."""
    backends: tuple[BackendName, ...] = tuple(f"{kind.value}/{DEFAULT_BACKEND}" for kind in Kind)
    """Where it is searched, each as `kind/name`."""
    weights: Weights = Weights()
    """Factor per kind on the weights of this corpus's lanes."""
    quorum: CorpusQuorum = CorpusQuorum()
    """What the loss of a lane means: `must`, the answer fails; `should`, it is partial; `may`, it is complete."""
    embedder: EmbedderSpec | None = None
    """None: what `index` embeds with."""

    @model_validator(mode="after")
    def _each_backend_once(self) -> Self:
        refuse((("backends", at), f"corpus {self.id!r} names the same backend twice") for at in repeated(self.backends))
        return self

    def faults(self, backends: BackendsConfig) -> Iterator[Fault]:
        """What keeps it from becoming a card."""
        for at, (kind, name) in enumerate(map(_split, self.backends)):
            known = sorted(backends.known(Kind(kind)))
            if name not in known:
                all_known = ", ".join(f"{kind}/{one}" for one in known)
                yield (
                    ("backends", at),
                    f"corpus {self.id!r} names backend {kind}/{name}, which is not configured; known are: {all_known}",
                )
        yield from self._quorum_faults()

    def _quorum_faults(self) -> Iterator[Fault]:
        """A requirement that no lane has: whoever writes it relies on it."""
        mine = ", ".join(self.backends) or "none"
        kinds = {kind for kind, _ in map(_split, self.backends)}
        for kind in Kind:
            if self.quorum.of(kind) is not None and kind not in kinds:
                yield ("quorum", kind.value), f"corpus {self.id!r} has no {kind.value} backend; its backends: {mine}"
        for name in self.quorum.backends:
            if name not in self.backends:
                near = difflib.get_close_matches(name, self.backends, 1)
                meant = f"did you mean {near[0]!r}? " if near else ""
                yield (
                    ("quorum", "backends", name),
                    f"corpus {self.id!r} has no backend {name}; {meant}its backends: {mine}",
                )

    def to_card(self, backends: BackendsConfig) -> CorpusCard:
        """The card; raises `ValueError` where `faults` finds any, and for what a card refuses."""
        refuse(self.faults(backends))
        return CorpusCard(
            tenant=self.tenant_id,
            corpus=self.id,
            display_name=self.display_name,
            description=self.description,
            backends=tuple(
                backends.wiring(Kind(kind), name, self.weights.of(Kind(kind)), self.quorum.of_backend(Kind(kind), name))
                for kind, name in map(_split, self.backends)
            ),
            embedder=self.embedder,
            term_weights=self.term_weights,
            **{name: getattr(self.card, name) for name in CardConfig.model_fields},
        )


def _split(backend: str) -> tuple[str, str]:
    kind, _, name = backend.partition("/")
    return kind, name
