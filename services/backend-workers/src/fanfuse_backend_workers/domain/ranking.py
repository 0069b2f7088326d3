"""An engine's hits become the ranked list of a lane.

In: hits with the engine's own scores, of one corpus or of several whose scores compare. Out: hits ranked from 1 in a
total order. Nothing without a chunk id or with a score that is not finite gets a rank; a chunk gets one, its best.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from pydantic import TypeAdapter

from fanfuse_backend_workers.ports import EngineHit
from fanfuse_contracts import limits
from fanfuse_contracts.retrieval import LaneHit

MAX_CHUNK_ID_CHARS: Final = 512
# All hits in one call: half the time of a constructor call each.
_HITS: Final = TypeAdapter(tuple[LaneHit, ...])


class Ranked(NamedTuple):
    """Hits in their order, and how many were refused."""

    hits: tuple[LaneHit, ...]
    dropped: int


def rank(found: Iterable[EngineHit], window: int) -> Ranked:
    """The best `window` chunks: higher score first, ties by chunk id, so that one set of hits has one order."""
    hits = list(found)
    sound = sorted((hit for hit in hits if _sound(hit)), key=lambda hit: (-hit.score, hit.chunk_id))
    best: dict[str, EngineHit] = {}
    for hit in sound:
        best.setdefault(hit.chunk_id, hit)
    chosen = [_row(hit, place) for place, hit in enumerate(islice(best.values(), window), start=1)]
    return Ranked(_HITS.validate_python(chosen), len(hits) - len(sound))


def rank_shared(found: Mapping[str, Iterable[EngineHit]], window: int) -> Ranked:
    """The best `window` chunks of several corpora, each with its corpus: higher score first, ties by corpus and id."""
    dropped = 0
    rows: list[tuple[float, str, EngineHit]] = []
    for corpus, hits in found.items():
        given = list(hits)
        sound = [(-hit.score, corpus, hit) for hit in given if _sound(hit)]
        dropped += len(given) - len(sound)
        rows += sound
    rows.sort(key=lambda row: (row[0], row[1], row[2].chunk_id))
    best: dict[tuple[str, str], EngineHit] = {}
    for _, corpus, hit in rows:
        best.setdefault((corpus, hit.chunk_id), hit)
    chosen = [
        _row(hit, place) | {"corpus": corpus}
        for place, ((corpus, _), hit) in enumerate(islice(best.items(), window), start=1)
    ]
    return Ranked(_HITS.validate_python(chosen), dropped)


def _sound(hit: EngineHit) -> bool:
    return 0 < len(hit.chunk_id) <= MAX_CHUNK_ID_CHARS and math.isfinite(hit.score)


def _row(hit: EngineHit, place: int) -> dict[str, str | int | float]:
    return {
        "chunk_id": hit.chunk_id,
        "rank": place,
        "score": hit.score,
        "content_hash": hit.content_hash,
        "title": hit.title[: limits.MAX_TITLE_CHARS],
    }
