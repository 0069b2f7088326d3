"""From weights of entities to chunks: which mentions are read, and what each is worth.

In: entities with weights, mentions. Out: asks, chunks with weights. A chunk has the whole weight of the entity whose
name it bears, and a small part of the others it mentions.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from fanfuse_backend_workers.domain.graph_asks import Ask, Entity, Find, Rows
from fanfuse_backend_workers.domain.graph_bounds import LeftOut

MENTIONED: Final = 0.2
"""Part of an entity's weight for a chunk that mentions it but does not bear its name."""


def share(weight: int, entity: Entity, names: int) -> int:
    """What an entity's weight gives a chunk that mentions it among `names`: little, if many chunks or names do so."""
    return int(weight * MENTIONED / math.sqrt(max(entity.mentions * names, 1)))


def mentions_to_read(entities: Sequence[Entity], weights: Mapping[str, int], rows: int) -> Ask:
    """At most `rows`: chunks that bear names, heaviest entity first; then those of which each mention is worth most."""
    most = {}
    for entity in entities:
        most[entity.key] = min(entity.bearers, rows)
        rows -= most[entity.key]
    for entity in sorted(entities, key=lambda one: (-share(weights[one.key], one, 1), one.key)):
        others = min(entity.mentions - entity.bearers, rows)
        most[entity.key] += others
        rows -= others
    read = {key: number for key, number in most.items() if number}
    return Ask(Find.MENTIONS, tuple(read), tuple(read.values()))


def note_unread(
    ask: Ask, rows: Rows, entities: Sequence[Entity], weights: Mapping[str, int], left_out: LeftOut
) -> None:
    """Tell what one unread mention could have been worth. Chunks with few names are read first, then by id."""
    read = dict(zip(ask.keys, ask.most, strict=True))
    fewest: dict[str, int] = {}
    for wanted, about, names, _ in rows:
        if not about:
            fewest[wanted] = max(names, fewest.get(wanted, 1))
    for entity in entities:
        number = read.get(entity.key, 0)
        if number < entity.bearers:
            left_out.note("mentions", weights[entity.key])
        elif number < entity.mentions:
            # An unread chunk of the same entity that is worth as much has a later id: it loses the tie.
            worth = share(weights[entity.key], entity, fewest.get(entity.key, 1))
            left_out.note("mentions", max(worth - 1, 0))


def ranked_chunks(
    rows: Rows, entities: Mapping[str, Entity], weights: Mapping[str, int], window: int
) -> list[tuple[str, int]]:
    """The best chunks with their weights, ties by chunk id."""
    scores: dict[str, int] = defaultdict(int)
    for wanted, about, names, chunk_id in rows:
        scores[chunk_id] += weights[wanted] if about else share(weights[wanted], entities[wanted], names)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:window]
