"""Labelled queries: what a profile is fitted on and measured with.

In: a file of JSON lines `{"text": …, "corpus": …, "lang"?: …}`; other fields are ignored. Out: the queries and the
file's SHA-256, or `LabelledError` that names file, line and what to do.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fanfuse_contracts.tokens import is_token

LEAST_PER_CORPUS: Final = 5
"""Fewest labelled queries of a corpus that can be held out and cross-validated."""


class LabelledError(ValueError):
    """A file of labelled queries can't be used."""


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query, the corpus it should go to, and its language where the file states it."""

    text: str
    corpus: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledQueries:
    """The queries of one file, in its order."""

    path: Path
    sha256: str
    queries: tuple[LabelledQuery, ...]

    @property
    def corpora(self) -> tuple[str, ...]:
        """Ids of the labelled corpora, sorted."""
        return tuple(count_per_corpus(self.queries))


def count_per_corpus(queries: Iterable[LabelledQuery]) -> dict[str, int]:
    """Corpus id to number of queries, by id."""
    return dict(sorted(Counter(query.corpus for query in queries).items()))


def read_labelled(path: Path) -> LabelledQueries:
    """Every query of a file; raises `LabelledError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LabelledError(f"{path}: can't be read ({error.strerror})") from error
    lines = enumerate(data.split(b"\n"), start=1)
    queries = tuple(_query(line, f"{path}, line {number}") for number, line in lines if line.strip())
    if not queries:
        raise LabelledError(f'{path}: holds no query; write one per line: {{"text": "...", "corpus": "..."}}')
    return LabelledQueries(path, hashlib.sha256(data).hexdigest(), queries)


def check_for_training(labelled: LabelledQueries) -> None:
    """Raise `LabelledError` unless there are two corpora or more, each with `LEAST_PER_CORPUS` queries."""
    counts = count_per_corpus(labelled.queries)
    if len(counts) < 2:
        raise LabelledError(f"{labelled.path}: all queries are of corpus {next(iter(counts))!r}; there is no choice")
    if few := {corpus: count for corpus, count in counts.items() if count < LEAST_PER_CORPUS}:
        listed = ", ".join(f"{corpus} has {count}" for corpus, count in few.items())
        raise LabelledError(
            f"{labelled.path}: every corpus needs {LEAST_PER_CORPUS} queries, but {listed}: label more, or leave it out"
        )


def check_for_test(labelled: LabelledQueries, corpora: tuple[str, ...]) -> None:
    """Raise `LabelledError` if a query is of a corpus that was not trained."""
    if unknown := sorted(set(labelled.corpora) - set(corpora)):
        raise LabelledError(f"{labelled.path}: corpus {unknown[0]!r} has no query to train on")


def _query(line: bytes, where: str) -> LabelledQuery:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise LabelledError(f"{where}: not JSON ({error})") from error
    if not isinstance(row, dict):
        raise LabelledError(f"{where}: not a JSON object")
    text, corpus = _text(row, "text", where), _text(row, "corpus", where)
    if not is_token(corpus):
        raise LabelledError(f"{where}: corpus {corpus[:80]!r} is no corpus id (lower-case letters, digits, '_', '-')")
    language = _text(row, "lang", where) if row.get("lang") is not None else None
    return LabelledQuery(text, corpus, language)


def _text(row: dict[str, Any], key: str, where: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise LabelledError(f"{where}: {key!r} must be a text that is not blank")
    return value
