"""Run files of TREC: `query Q0 document rank score tag`, one hit a line.

In: a file of anybody's, or ranked lists. Out: lists best first, or a file. The score decides, as in trec_eval; of equal
scores the larger document id goes first there, and so it does here. A list with a document twice is an error.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from fanfuse_all_in_one.failures import OperatorError

_COLUMNS: Final = 6
Run = Mapping[str, Sequence[tuple[str, float]]]
"""Documents with scores, best first, by query id."""


class RunError(OperatorError):
    """A file is no run; the message names the line and what is wrong with it."""


def read_run(path: Path) -> Run:
    """Read a run file. Raises `RunError`."""
    found: dict[str, dict[str, float]] = {}
    for number, query, document, score in _rows(path):
        hits = found.setdefault(query, {})
        if document in hits:
            raise RunError(f"{path}:{number}: document {document!r} stands a second time in the list of {query!r}")
        hits[document] = score
    if not found:
        raise RunError(f"{path}: holds no hit")
    return {
        query: sorted(hits.items(), key=lambda hit: (hit[1], hit[0]), reverse=True) for query, hits in found.items()
    }


def _in_order(hits: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(hits.items(), key=lambda hit: (hit[1], hit[0]), reverse=True)


def write_run(path: Path, tag: str, lists: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Write lists as a run that every judge orders alike.

    The score is the place counted from the list's end: fused scores do not always fall, as a reserved seat may stand
    above a higher score.
    """
    with path.open("w", encoding="utf-8") as stream:
        for query, documents in lists:
            for rank, document in enumerate(documents, 1):
                stream.write(f"{query} Q0 {document} {rank} {len(documents) - rank + 1} {tag}\n")


def _rows(path: Path) -> Iterator[tuple[int, str, str, float]]:
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, *_row(path, number, line.split())
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path}: not UTF-8") from error


def _row(path: Path, number: int, columns: Sequence[str]) -> tuple[str, str, float]:
    if len(columns) != _COLUMNS:
        raise RunError(f"{path}:{number}: not `query Q0 document rank score tag`: {len(columns)} columns")
    try:
        score = float(columns[4])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise RunError(f"{path}:{number}: {columns[4]!r} is no score")
    return columns[0], columns[2], score
