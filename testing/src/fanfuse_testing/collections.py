"""Real retrieval collections for tests and benches, unpacked into a cache outside the repository.

In: a folder with `data/<name>.tar.xz` and `data/vectors/<name>.npz`. Out: documents, queries, judgements and unit
vectors, kept in memory. It never writes into the repository or the source folder.
"""

import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARED_VARIABLE = "FANFUSE_SHARED"


class MissingDataError(FileNotFoundError):
    """The folder of evaluation data is not there."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document; a precomputed unit vector is in `Collection.document_vectors`."""

    document_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A judged collection. `qrels` maps query id → document id → grade (0: judged not relevant)."""

    name: str
    documents: tuple[Document, ...]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    document_vectors: Mapping[str, NDArray[np.float32]]
    query_vectors: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class RoutingQuery:
    """A query and the collection that answers it; `query_id` is that collection's own."""

    query_id: str
    text: str
    corpus: str
    language: str


def shared_folder(beside: Path | None = None) -> Path:
    """$FANFUSE_SHARED, else `shared` beside the checkout `beside`; raises `MissingDataError`."""
    named = os.environ.get(SHARED_VARIABLE)
    folder = Path(named) if named else (beside or Path.cwd()).resolve().parent / "shared"
    if not (folder / "data").is_dir():
        raise MissingDataError(f"no evaluation data in {folder}: set {SHARED_VARIABLE} to the folder that holds data/")
    return folder


@cache
def load_collection(name: str, folder: Path) -> Collection:
    """Collection `name` (such as `cranfield`) of `folder`; raises `MissingDataError`."""
    source = _unpacked(folder / "data" / f"{name}.tar.xz", name)
    documents = tuple(
        Document(str(row["_id"]), row.get("title") or "", row["text"]) for row in _rows(source / "corpus.jsonl")
    )
    queries = {str(row["_id"]): str(row["text"]) for row in _rows(source / "queries.jsonl")}
    document_vectors, query_vectors = _vectors(folder / "data" / "vectors" / f"{name}.npz")
    return Collection(name, documents, queries, _qrels(source / "qrels.tsv"), document_vectors, query_vectors)


def collection_folder(name: str, folder: Path, into: Path) -> Path:
    """Collection `name` in BEIR form under its own name in `into`; raises `MissingDataError`."""
    target = into / name
    target.symlink_to(_unpacked(folder / "data" / f"{name}.tar.xz", name), target_is_directory=True)
    return target


def routing_file(split: str, folder: Path) -> Path:
    """Labelled queries, a JSON object per line: `train` or `test`; raises `MissingDataError`."""
    return _unpacked(folder / "data" / "routing.tar.xz", "routing", "corpora.jsonl") / f"{split}.jsonl"


def load_routing(split: str, folder: Path) -> tuple[RoutingQuery, ...]:
    """The queries of `routing_file`, in its order."""
    return tuple(
        RoutingQuery(row["_id"].removeprefix(f"{row['corpus']}/"), row["text"], row["corpus"], row["lang"])
        for row in _rows(routing_file(split, folder))
    )


def _unpacked(archive: Path, name: str, holds: str = "corpus.jsonl") -> Path:
    if not archive.is_file():
        raise MissingDataError(f"{archive} does not exist")
    base = Path(tempfile.gettempdir()) / f"fanfuse-collections-{os.getuid()}"
    target = base / f"{name}-{archive.stat().st_size}"
    if not target.is_dir():
        base.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=base) as partial, tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
            found = next(Path(partial).rglob(holds)).parent
            if not target.is_dir():  # another process may have been faster
                found.rename(target)
    return target


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            query, document, grade = line.rstrip("\n").split("\t")
            judged.setdefault(query, {})[document] = int(grade)
    return judged


def _vectors(path: Path) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[np.float32]]]:
    if not path.is_file():
        return {}, {}
    with np.load(path, allow_pickle=False) as stored:
        return _unit(stored, "doc"), _unit(stored, "query")


def _unit(stored: Mapping[str, NDArray[Any]], side: str) -> dict[str, NDArray[np.float32]]:
    vectors = stored[f"{side}_vectors"].astype(np.float32) * stored[f"{side}_scales"][:, None].astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return {str(key): vector for key, vector in zip(stored[f"{side}_ids"], vectors, strict=True)}
