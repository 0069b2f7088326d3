"""An engine's hits become the ranked list of a lane.

In: hits with the engine's own scores, of one corpus or of several whose scores compare. Out: hits ranked from 1 in a
total order. Nothing without a chunk id, with a score that is not finite, or with a text that is none (another type,
half of a surrogate pair) gets a rank; a chunk gets one, its best.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from fanfuse_backend_workers.ports import EngineHit
from fanfuse_contracts import limits
from fanfuse_contracts.retrieval import LaneHit

MAX_CHUNK_ID_CHARS: Final = 512
_texts_of: Final = attrgetter("chunk_id", "content_hash", "title")


class Ranked(NamedTuple):
    """Hits in their order, and how many were refused."""

    hits: tuple[LaneHit, ...]
    dropped: int


def rank(found: Iterable[EngineHit], window: int) -> Ranked:
    """The best `window` chunks: higher score first, ties by chunk id, so that one set of hits has one order."""
    hits = list(found)
    sound = sorted(_sound(hits), key=lambda hit: (-hit.score, hit.chunk_id))
    best: dict[str, EngineHit] = {}
    for hit in sound:
        best.setdefault(hit.chunk_id, hit)
    chosen = enumerate(islice(best.values(), window), start=1)
    return Ranked(tuple([_ranked(hit, place, None) for place, hit in chosen]), len(hits) - len(sound))


def rank_shared(found: Mapping[str, Iterable[EngineHit]], window: int) -> Ranked:
    """The best `window` chunks of several corpora, each with its corpus: higher score first, ties by corpus and id."""
    dropped = 0
    rows: list[tuple[float, str, EngineHit]] = []
    for corpus, hits in found.items():
        given = list(hits)
        sound = [(-hit.score, corpus, hit) for hit in _sound(given)]
        dropped += len(given) - len(sound)
        rows += sound
    rows.sort(key=lambda row: (row[0], row[1], row[2].chunk_id))
    best: dict[tuple[str, str], EngineHit] = {}
    for _, corpus, hit in rows:
        best.setdefault((corpus, hit.chunk_id), hit)
    chosen = enumerate(islice(best.items(), window), start=1)
    return Ranked(tuple([_ranked(hit, place, corpus) for place, ((corpus, _), hit) in chosen]), dropped)


def _sound(hits: Sequence[EngineHit]) -> list[EngineHit]:
    """Those that `LaneHit` would take; else one bad row of an index would fail the whole lane."""
    try:
        "".join([text for hit in hits for text in _texts_of(hit)]).encode()
    except (TypeError, UnicodeEncodeError):
        hits = [hit for hit in hits if all(map(_is_text, _texts_of(hit)))]
    return [hit for hit in hits if 0 < len(hit.chunk_id) <= MAX_CHUNK_ID_CHARS and math.isfinite(hit.score)]


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _ranked(hit: EngineHit, place: int, corpus: str | None) -> LaneHit:
    return LaneHit.of_checked(
        {
            "chunk_id": hit.chunk_id,
            "rank": place,
            "score": hit.score,
            "content_hash": hit.content_hash,
            "corpus": corpus,
            "title": hit.title[: limits.MAX_TITLE_CHARS],
        }
    )
