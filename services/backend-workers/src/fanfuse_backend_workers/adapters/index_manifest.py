"""The small files beside an index that say what it holds.

In: a directory. Out: a frozen manifest and the table of filter values. A directory of another kind, an unknown format
or a half-written index is refused; nothing is repaired.
"""

from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from fanfuse_backend_workers.adapters.filter_values import FieldValues
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.base import Written
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.tokens import Token

_MANIFEST: Final = "manifest.json"
_VALUES: Final = "filter_values.json"


class IndexManifest(Written):
    """What an index directory holds. Written last: its presence says that the index is complete."""

    format: Literal[3] = 3
    """Raised with every change of what is written: a reader of another version refuses instead of finding nothing."""
    kind: Kind
    tenant: Token
    corpus: Token
    chunks: int
    dimensions: int | None = None
    """Size of the vectors, of a vector index."""


def write_manifest(directory: Path, manifest: IndexManifest, values: FieldValues) -> None:
    """Complete an index."""
    values.save(directory / _VALUES)
    (directory / _MANIFEST).write_bytes(manifest.to_json())


def read_manifest(directory: Path, kind: Kind) -> tuple[IndexManifest, FieldValues]:
    """Manifest and values; raises `SearchError` (NOT_FOUND: no complete index there, CONFIG: of another kind)."""
    try:
        manifest = IndexManifest.from_json((directory / _MANIFEST).read_bytes())
        values = FieldValues.load(directory / _VALUES)
    except FileNotFoundError as error:
        raise SearchError(FailureKind.NOT_FOUND, f"no complete index in {directory.name}: index the corpus") from error
    except ValidationError as error:
        raise SearchError(
            FailureKind.CONFIG, f"the index in {directory.name} has a format unknown here: index the corpus again"
        ) from error
    if manifest.kind is not kind:
        raise SearchError(FailureKind.CONFIG, f"{directory.name} holds a {manifest.kind} index, not a {kind} index")
    return manifest, values
