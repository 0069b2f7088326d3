"""Reads a collection in BEIR form. In: a folder with corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/*.tsv). Out:
its queries and judgements; the documents are loaded like any other JSONL. What does not fit together is an error.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts.tokens import check_token

_NOT_TOKEN = re.compile(r"[^a-z0-9_-]+")
_PREFERRED = ("test", "dev", "train")


class CollectionError(OperatorError):
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
    source = _judgement_file(folder)
    judgements, queries = read_judgements(source), _records(folder / "queries.jsonl", "text")
    for key in judgements:
        if key not in queries:
            raise CollectionError(f"{source}: judges query {key!r}, which queries.jsonl does not have")
    if not judgements:
        raise CollectionError(f"{folder}: no query has a judgement")
    asked = {key: text for key, text in queries.items() if key in judgements}
    return Collection(corpus_token(folder_name(folder)), documents, asked, judgements)


def document_ids(collection: Collection) -> frozenset[str]:
    """Ids of all documents; raises `CollectionError` where a judgement names another one, or two are the same."""
    known = frozenset(_records(collection.documents))
    for query, grades in collection.judgements.items():
        for document in grades:
            if document not in known:
                raise CollectionError(
                    f"{collection.documents}: has no document {document!r}, which is judged for query {query!r}"
                )
    return known


def folder_name(folder: Path) -> str:
    """What a folder is called where it is named: a link keeps its own name."""
    return os.path.basename(os.path.abspath(folder))


def corpus_token(name: str) -> str:
    """A folder name as a corpus name."""
    return check_token(_NOT_TOKEN.sub("-", name.lower()).strip("-")[:64] or "collection", "corpus")


def read_judgements(path: Path) -> dict[str, dict[str, int]]:
    """Grade by document id, by query id: BEIR's three columns, or the four of TREC. Raises `CollectionError`."""
    found: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        row = line.split("\t") if "\t" in line else line.split()
        if number == 1 and not _is_grade(row[-1]):
            continue
        if len(row) not in (3, 4) or not _is_grade(row[-1]):
            raise CollectionError(f"{path}:{number}: not query, document and grade")
        grades = found.setdefault(row[0], {})
        if row[-2] in grades:
            raise CollectionError(f"{path}:{number}: judges document {row[-2]!r} for query {row[0]!r} a second time")
        grades[row[-2]] = int(row[-1])
    return found


def _judgement_file(folder: Path) -> Path:
    """qrels.tsv, else the test part of qrels/, else the first of its parts."""
    if (folder / "qrels.tsv").is_file():
        return folder / "qrels.tsv"
    parts = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    if not parts:
        raise CollectionError(f"{folder}: neither qrels.tsv nor qrels/*.tsv is there")
    return next((parts[name] for name in _PREFERRED if name in parts), next(iter(parts.values())))


def _is_grade(text: str) -> bool:
    return re.fullmatch(r"-?\d{1,9}", text) is not None


def _records(path: Path, field: str | None = None) -> dict[str, str]:
    """A field of every record by its id; without a field the ids alone."""
    found: dict[str, str] = {}
    what = f"a query with '_id' and {field!r}" if field else "a document with '_id'"
    for number, line in _lines(path):
        try:
            record = json.loads(line)
            key, value = str(record["_id"]), str(record[field]) if field else ""
        except (ValueError, KeyError, TypeError) as error:
            raise CollectionError(f"{path}:{number}: not {what}") from error
        if key in found:
            raise CollectionError(f"{path}:{number}: the id {key!r} stands there a second time")
        found[key] = value
    return found


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        raise CollectionError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CollectionError(f"{path}: not UTF-8") from error
