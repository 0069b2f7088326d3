"""Reads a collection in BEIR form. In: a folder with corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/*.tsv). Out:
its queries and judgements; the documents are loaded like any other JSONL. Bad lines of the judgements are an error.
"""

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fanfuse_contracts.tokens import check_token

_NOT_TOKEN = re.compile(r"[^a-z0-9_-]+")
_PREFERRED = ("test", "dev", "train")


class CollectionError(ValueError):
    """The folder is no collection; the message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Collection:
    """`queries`: text by id, those with judgements only. `judgements`: grade by document id, by query id."""

    name: str
    documents: Path
    queries: Mapping[str, str]
    judgements: Mapping[str, Mapping[str, int]]


def read_collection(folder: Path) -> Collection:
    """The collection in a folder; raises `CollectionError`."""
    documents = folder / "corpus.jsonl"
    if not documents.is_file():
        raise CollectionError(f"{documents}: there is no such file")
    judgements = _judgements(_judgement_file(folder))
    queries = {key: text for key, text in _queries(folder / "queries.jsonl").items() if key in judgements}
    if not queries:
        raise CollectionError(f"{folder}: no query has a judgement")
    return Collection(corpus_token(folder.resolve().name), documents, queries, judgements)


def corpus_token(name: str) -> str:
    """A folder name as a corpus name."""
    return check_token(_NOT_TOKEN.sub("-", name.lower()).strip("-")[:64] or "collection", "corpus")


def _judgement_file(folder: Path) -> Path:
    """qrels.tsv, else the test part of qrels/, else the first of its parts."""
    if (folder / "qrels.tsv").is_file():
        return folder / "qrels.tsv"
    parts = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    if not parts:
        raise CollectionError(f"{folder}: neither qrels.tsv nor qrels/*.tsv is there")
    return next((parts[name] for name in _PREFERRED if name in parts), next(iter(parts.values())))


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for number, row in enumerate(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if not row or (number == 1 and not _is_grade(row[-1])):
                continue
            if len(row) not in (3, 4) or not _is_grade(row[-1]):
                raise CollectionError(f"{path}:{number}: not query, document and grade")
            found.setdefault(row[0], {})[row[-2]] = int(row[-1])
    return found


def _is_grade(text: str) -> bool:
    return re.fullmatch(r"-?\d{1,9}", text) is not None


def _queries(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8-sig") as stream:
            return dict(_query(path, number, line) for number, line in enumerate(stream, 1) if line.strip())
    except OSError as error:
        raise CollectionError(f"{path}: {error.strerror}") from error


def _query(path: Path, number: int, line: str) -> tuple[str, str]:
    try:
        record = json.loads(line)
        return str(record["_id"]), str(record["text"])
    except (ValueError, KeyError, TypeError) as error:
        raise CollectionError(f"{path}:{number}: not a query with '_id' and 'text'") from error
