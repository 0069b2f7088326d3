"""Backends and corpora as an operator writes them in `fanfuse.yaml`, and the cards made of them.

In: sections `backends` and `corpora`. Out: capability cards without an index: what `index` knows (generation, chunks,
time) is never in the file.
"""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from fanfuse_contracts.base import FiniteFloat, Weight, Written
from fanfuse_contracts.capability import Capability, Topic
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType, Wiring
from fanfuse_contracts.enums import Kind, SourceKind
from fanfuse_contracts.filters import FieldName, Op
from fanfuse_contracts.tokens import Token
from fanfuse_contracts.weights import Weights

DEFAULT_BACKEND: Final = "main"
"""The backend of each kind that exists without being configured: the embedded engine."""


class BackendConfig(Written):
    """One backend of the section `backends.<kind>.<name>`."""

    pool: Token | None = None
    """Pool of workers that serves it. None: a pool of the backend's name."""
    weight: Weight = 1.0
    """Factor on the weight of every lane of this backend."""
    operators: frozenset[Op] = frozenset(Op)
    """Filter operators it applies exactly."""


class BackendsConfig(Written):
    """Section `backends`: by kind, then by name."""

    vector: dict[Token, BackendConfig] = {}
    keyword: dict[Token, BackendConfig] = {}
    graph: dict[Token, BackendConfig] = {}

    def known(self, kind: Kind) -> dict[str, BackendConfig]:
        """The backends of a kind by name, the embedded one included."""
        configured = {Kind.VECTOR: self.vector, Kind.KEYWORD: self.keyword, Kind.GRAPH: self.graph}[kind]
        return {DEFAULT_BACKEND: BackendConfig()} | configured


class CardConfig(Written):
    """The capability card of a corpus in the file."""

    source: SourceKind = SourceKind.REFERENCE
    can_answer: tuple[Capability, ...] = ()
    cannot_confirm: tuple[Topic, ...] = ()
    fields: dict[FieldName, FieldType] = {}
    freshness_s: Annotated[int, Field(gt=0)] | None = None
    fallbacks: tuple[Token, ...] = ()
    cost: Annotated[float, Field(ge=0.0, le=1e6, allow_inf_nan=False)] = 0.0
    scopes: frozenset[Token] = frozenset()
    public: bool = False
    readers: frozenset[str] = frozenset()


class CorpusConfig(Written):
    """One corpus of the section `corpora`."""

    id: Token
    tenant_id: Token
    display_name: str = ""
    description: str = ""
    card: CardConfig = CardConfig()
    term_weights: dict[str, FiniteFloat] = {}
    backends: tuple[Annotated[str, Field(pattern=r"^(vector|keyword|graph)/[a-z0-9_-]{1,64}$")], ...] = tuple(
        f"{kind.value}/{DEFAULT_BACKEND}" for kind in Kind
    )
    """As `kind/name`."""
    weights: Weights = Weights()
    """Factor per kind on the weights of this corpus's lanes."""
    embedder: EmbedderSpec | None = None
    """None: what `index` embeds with."""

    @model_validator(mode="after")
    def _each_backend_once(self) -> Self:
        if len(set(self.backends)) != len(self.backends):
            raise ValueError(f"corpus {self.id!r} names the same backend twice")
        return self

    def to_card(self, backends: BackendsConfig) -> CorpusCard:
        """The card; raises `ValueError` for a backend that is not configured."""
        return CorpusCard(
            tenant=self.tenant_id,
            corpus=self.id,
            display_name=self.display_name,
            description=self.description,
            backends=tuple(self._wire(Kind(kind), name, backends) for kind, name in map(_split, self.backends)),
            embedder=self.embedder,
            term_weights=self.term_weights,
            **{name: getattr(self.card, name) for name in CardConfig.model_fields},
        )

    def _wire(self, kind: Kind, name: str, backends: BackendsConfig) -> Wiring:
        known = backends.known(kind)
        if name not in known:
            raise ValueError(
                f"corpus {self.id!r} names backend {kind.value}/{name}, which is not configured; "
                f"known are: {', '.join(f'{kind.value}/{one}' for one in sorted(known))}"
            )
        backend = known[name]
        return Wiring(
            kind=kind,
            backend=name,
            pool=backend.pool or name,
            weight=min(backend.weight * self.weights.of(kind), 1e6),
            operators=backend.operators,
        )


def _split(backend: str) -> tuple[str, str]:
    kind, _, name = backend.partition("/")
    return kind, name
