"""The order in which the relations and chunks of one entity are read, so that a bound cuts the least.

In: relations, mentions. Out: their ranks, from 1. Pure, so that every engine has the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from fanfuse_backend_workers.domain.graph_names import Relation

Row = dict[str, Any]
RANKS: Final = ("subject_rank", "subject_alike", "object_rank", "object_alike")
"""What `ranked_relations` adds to a relation."""


def ranked_relations(relations: Iterable[Relation]) -> Iterator[Row]:
    """Relations with their rank at either end, and how many that end has of this name.

    The first of every name comes first, then the second of every name, and so on; of one name those to neighbours with
    few relations come first. So no frequent relation keeps a rare one out.
    """
    rows: list[Row] = [
        {"subject": subject, "name": name, "object": target} for subject, name, target in sorted(relations)
    ]
    degrees = Counter(row[end] for row in rows for end in ("subject", "object"))
    _rank(rows, "subject", "object", degrees)
    _rank(rows, "object", "subject", degrees)
    yield from rows


def ranked_mentions(chunks: Sequence[tuple[bool, int, str]]) -> Iterator[tuple[int, bool, str]]:
    """Rank, whether the chunk bears the name, and its id; from (does not bear it, names in the chunk, id).

    Those that count most for the entity come first: bearers, then chunks with few other names, then by id.
    """
    for rank, (other, _, chunk_id) in enumerate(sorted(chunks), start=1):
        yield rank, not other, chunk_id


def _rank(rows: list[Row], near: str, far: str, degrees: Mapping[str, int]) -> None:
    alike: Counter[tuple[str, str]] = Counter()
    places: list[tuple[int, int, str, str, Row]] = []
    for row in sorted(rows, key=lambda row: (degrees[row[far]], row[far], row["name"])):
        alike[row[near], row["name"]] += 1
        places.append((alike[row[near], row["name"]], degrees[row[far]], row[far], row["name"], row))
    given: Counter[str] = Counter()
    for *_, row in sorted(places, key=lambda place: place[:4]):
        given[row[near]] += 1
        row[f"{near}_rank"] = given[row[near]]
        row[f"{near}_alike"] = alike[row[near], row["name"]]
