"""Vectors that were computed elsewhere. In: a .npz with `doc_ids`, `doc_vectors` (int8 or float, n × d) and, if those
are scaled, `doc_scales` (n); of queries the same with `query_`. Out: a vector by its id. Reads no pickle.
"""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fanfuse_contracts.limits import MAX_VECTOR_DIMENSIONS
from fanfuse_indexing import limits
from fanfuse_indexing.documents import Vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class VectorsError(ValueError):
    """The file of vectors cannot be used; the message names it and the reason."""


class PrecomputedVectors:
    """Vectors by document id; `unused` counts those that nobody asked for yet."""

    def __init__(
        self, ids: list[str], rows: "npt.NDArray[np.generic]", scales: "npt.NDArray[np.float64] | None"
    ) -> None:
        self._place = {document_id: place for place, document_id in enumerate(ids)}
        self._rows = rows
        self._scales = scales
        self._asked: set[int] = set()

    @property
    def unused(self) -> int:
        """Vectors whose document was not met."""
        return len(self._place) - len(self._asked)

    def get(self, document_id: str) -> Vector | None:
        """The vector of a document, as stored times its scale; None if there is none."""
        place = self._place.get(document_id)
        if place is None:
            return None
        self._asked.add(place)
        row = self._rows[place].astype("float64")
        return tuple((row if self._scales is None else row * self._scales[place]).tolist())


def read_vectors(path: Path, of: Literal["doc", "query"] = "doc") -> PrecomputedVectors:
    """Read a file of vectors; raises `VectorsError` when it is missing, damaged or does not fit together."""
    import numpy as np

    try:
        if path.stat().st_size > limits.MAX_VECTORS_FILE_BYTES:
            raise VectorsError(f"{path}: larger than {limits.MAX_VECTORS_FILE_BYTES} bytes")
        with np.load(path, allow_pickle=False) as stored:
            ids = [str(value) for value in stored[f"{of}_ids"]]
            rows = stored[f"{of}_vectors"]
            scales = stored[f"{of}_scales"].astype("float64") if f"{of}_scales" in stored.files else None
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise VectorsError(f"{path}: {error}") from error
    except ValueError as error:
        raise error if isinstance(error, VectorsError) else VectorsError(f"{path}: {error}") from error
    _check(path, of, ids, rows, scales)
    return PrecomputedVectors(ids, rows, scales)


def has_query_vectors(path: Path) -> bool:
    """True if a file holds vectors of queries too; raises `VectorsError`."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return "query_ids" in stored.files
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise VectorsError(f"{path}: {error}") from error


def _check(
    path: Path, of: str, ids: list[str], rows: "npt.NDArray[np.generic]", scales: "npt.NDArray[np.float64] | None"
) -> None:
    if rows.ndim != 2 or len(rows) != len(ids) or not 1 <= rows.shape[1] <= MAX_VECTOR_DIMENSIONS:
        raise VectorsError(f"{path}: {of}_vectors of shape {rows.shape} do not fit {len(ids)} {of}_ids")
    if rows.dtype.kind not in "if":
        raise VectorsError(f"{path}: {of}_vectors are {rows.dtype}, not numbers")
    if scales is not None and scales.shape != (len(ids),):
        raise VectorsError(f"{path}: {of}_scales of shape {scales.shape} do not fit {len(ids)} {of}_ids")
    if len(set(ids)) != len(ids):
        raise VectorsError(f"{path}: {of}_ids are not unique")
