"""Names, mappings and settings of the indexes of one installation.

One index per tenant, corpus and generation, so BM25's statistics are the corpus's own. Names join tokens by a dot,
which no token holds: two generations never share a name. Text is analysed here, not by the server: its analyser only
cuts at blanks.
"""

from collections.abc import Mapping
from typing import Any, Final

from fanfuse_backend_workers.adapters.lucene_failures import ServerError
from fanfuse_backend_workers.servers import IndexKey, IndexShape
from fanfuse_contracts.enums import FailureKind

FORMAT: Final = 1
"""Raised with every change of what is written: a reader of another version refuses instead of finding nothing."""
OWNER: Final = "fanfuse"
_MAX_NAME_BYTES: Final = 255
_TOKENS: Final = "fanfuse_tokens"
_LONGEST_TOKEN: Final = 4_096
"""In UTF-16 units. The server would cut a longer one; the analysis makes none near it."""
_MAX_FIELDS: Final = 2_000
_VALUE_TYPES: Final = {"i": "long", "d": "double", "b": "boolean", "s": "keyword", "l": "keyword"}
_SETTINGS: Final[Mapping[str, Any]] = {
    "number_of_shards": 1,
    "auto_expand_replicas": "0-1",
    "refresh_interval": "-1",
    "mapping": {"total_fields": {"limit": _MAX_FIELDS}},
    "similarity": {"default": {"type": "BM25", "k1": 1.2, "b": 0.75}},
    "analysis": {
        "tokenizer": {_TOKENS: {"type": "whitespace", "max_token_length": _LONGEST_TOKEN}},
        "analyzer": {_TOKENS: {"type": "custom", "tokenizer": _TOKENS}},
    },
}


class IndexNames:
    """Names within a namespace; raises `ServerError(CONFIG)` for one that no index may begin with."""

    def __init__(self, namespace: str) -> None:
        if not namespace[:1].isalnum():
            raise ServerError(FailureKind.CONFIG, f"an index name cannot begin with namespace {namespace!r}")
        self._namespace = namespace

    @property
    def everything(self) -> str:
        """Pattern of every index of the installation."""
        return f"{self._namespace}.*"

    def index(self, key: IndexKey) -> str:
        """Name of the index of a generation."""
        name = f"{self.alias(key.tenant, key.corpus)}.{key.generation}"
        if len(name.encode()) > _MAX_NAME_BYTES:
            raise ServerError(FailureKind.CONFIG, f"the index name {name!r} is over {_MAX_NAME_BYTES} bytes")
        return name

    def alias(self, tenant: str, corpus: str) -> str:
        """Name of the alias of the published generation."""
        return f"{self._namespace}.{tenant}.{corpus}"

    def generation(self, index: str, tenant: str, corpus: str) -> str | None:
        """The generation an index of this corpus holds; None for any other index."""
        prefix, _, generation = index.rpartition(".")
        return generation if generation and prefix == self.alias(tenant, corpus) else None


def index_body(key: IndexKey, shape: IndexShape) -> dict[str, Any]:
    """What an index is created with."""
    return {"settings": {"index": _SETTINGS}, "mappings": mapping(key, shape)}


def mapping(key: IndexKey, shape: IndexShape) -> dict[str, Any]:
    """The mapping of a generation. Text, title and source stand in the stored document only."""
    exact = {"type": "keyword"}
    scored = {"type": "text", "analyzer": _TOKENS}
    fields = {name: {"properties": _typed()} for name in sorted(shape.fields)}
    return {
        "dynamic": "false",
        "_meta": {OWNER: owner(key, shape)},
        "_source": {"excludes": ["words", "wholes"]},
        "properties": {
            **dict.fromkeys(("tenant", "corpus", "generation", "chunk_id", "fields"), exact),
            "words": scored,
            "wholes": {**scored, "index_options": "freqs"},
            **({"m": {"properties": fields}} if fields else {}),
        },
    }


def owner(key: IndexKey, shape: IndexShape) -> dict[str, Any]:
    """What an index says of itself."""
    return {"format": FORMAT, **key._asdict(), "fields": sorted(shape.fields)}


def fields_of(found: Mapping[str, Any], key: IndexKey) -> frozenset[str]:
    """Filterable fields of an index, by its mapping. Raises `ServerError(CONFIG)` for an index of something else."""
    said = found.get("_meta", {}).get(OWNER)
    if not isinstance(said, dict) or {name: said.get(name) for name in key._fields} != key._asdict():
        raise ServerError(FailureKind.CONFIG, f"the index of {_named(key)} was not made by this software: it is left")
    if said.get("format") != FORMAT:
        raise ServerError(FailureKind.CONFIG, f"the index of {_named(key)} has a format unknown here: index again")
    return frozenset(said.get("fields", ()))


def check_mapping(found: Mapping[str, Any], key: IndexKey, shape: IndexShape) -> None:
    """Raise `ServerError(CONFIG)` unless an existing index was made for this shape and still has its mapping."""
    if fields_of(found, key) != frozenset(shape.fields):
        raise ServerError(FailureKind.CONFIG, f"the index of {_named(key)} was made for other filterable fields")
    wanted, present = (_flat(one.get("properties", {})) for one in (mapping(key, shape), found))
    differing = sorted(name for name, one in wanted.items() if present.get(name) != one)
    if differing or str(found.get("dynamic")).lower() != "false":
        what = ", ".join(differing[:5]) or "dynamic"
        raise ServerError(FailureKind.CONFIG, f"the index of {_named(key)} has another mapping of: {what}")


def _typed() -> dict[str, Any]:
    return {name: {"type": kind} for name, kind in _VALUE_TYPES.items()}


def _flat(properties: Mapping[str, Any], prefix: str = "") -> dict[str, tuple[object, ...]]:
    """Type, analyser and frequencies of each field by its full name."""
    flat: dict[str, tuple[object, ...]] = {}
    for name, one in properties.items():
        if "properties" in one:
            flat |= _flat(one["properties"], f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = tuple(one.get(part) for part in ("type", "analyzer", "index_options", "norms"))
    return flat


def _named(key: IndexKey) -> str:
    return f"corpus {key.corpus!r}, generation {key.generation!r}"
