"""Brings together what the operators' file states of a corpus and what `index` found in it.

In: two cards of one corpus. Out: one card, or a typed error where both speak of the same thing and differ. The file
owns everything but the index itself; embedder and each field are its own where it states them, else the index's.
"""

from collections.abc import Mapping
from typing import Final

from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType
from fanfuse_runtime.corpus_store import RegistryError

INDEX_OWNED: Final = ("generation", "chunks", "relations", "indexed_at")
_HOLDS: Final = frozenset({(FieldType.FLOAT, FieldType.INTEGER)})
"""(stated, found): a field stated as the first may hold the second."""


class StatedOtherwiseError(RegistryError):
    """The file states something of a corpus that its index contradicts."""


def with_index(stated: CorpusCard, known: CorpusCard | None) -> CorpusCard:
    """The file's card with the index of the registered one, if it has any. Raises `StatedOtherwiseError`."""
    if known is None:
        return stated
    kept = {name: getattr(known, name) for name in INDEX_OWNED}
    if known.generation is not None:
        kept["embedder"] = _embedder(stated, known)
        kept["fields"] = merge_fields(stated.corpus, stated.fields, known.fields)
    return stated.model_copy(update=kept)


def merge_fields(corpus: str, stated: Mapping[str, FieldType], found: Mapping[str, FieldType]) -> dict[str, FieldType]:
    """Every field that is stated or found. Raises `StatedOtherwiseError` for one whose types differ."""
    for name, wanted in stated.items():
        holds = found.get(name, wanted)
        if holds is not wanted and (wanted, holds) not in _HOLDS:
            raise StatedOtherwiseError(
                f"field {name!r} of corpus {corpus} is stated as {wanted.value}, and its text holds {holds.value}: "
                "correct the file, or the text, and index it again with this file"
            )
    return {**found, **stated}


def changed_fields(old: CorpusCard, new: CorpusCard) -> tuple[str, ...]:
    """Names of the parts that differ, sorted."""
    return tuple(sorted(name for name in CorpusCard.model_fields if getattr(old, name) != getattr(new, name)))


def _embedder(stated: CorpusCard, known: CorpusCard) -> EmbedderSpec | None:
    wanted, used = stated.embedder, known.embedder
    if wanted is None or used is None or _fit(wanted, used):
        return wanted or used
    raise StatedOtherwiseError(
        f"corpus {stated.corpus} is indexed with {_told(used)}, and the file states {_told(wanted)}: "
        "state what it is indexed with, or index it again with this file"
    )


def _fit(wanted: EmbedderSpec, used: EmbedderSpec) -> bool:
    """Whether both make vectors of one space. A model the worker has itself puts its own prefix before a document."""
    if (wanted.model, wanted.dimensions) != (used.model, used.dimensions):
        return False
    own = wanted.endpoint is None or used.endpoint is None
    return own or wanted.document_prefix == used.document_prefix


def _told(embedder: EmbedderSpec) -> str:
    prefix = f", document_prefix {embedder.document_prefix!r}" if embedder.document_prefix else ""
    return f"{embedder.model} ({embedder.dimensions} dimensions{prefix})"
