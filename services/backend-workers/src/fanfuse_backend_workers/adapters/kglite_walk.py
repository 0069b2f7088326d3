"""One bounded walk through the graph: seeds, hops, the chunks on the way, their scores.

Ranking. An entity weighs damp(e) = ln(1 + N / mentions(e)) / ln(1 + N) for N chunks: 1 for a name met once, near 0
for one met everywhere. A seed's weight is its damp; the weight of an entity one hop on is its damp times the sum of
the weights of those it was reached from. A chunk belongs to its nearest distance d: 0 if it mentions a seed, 1 or 2 if
it mentions an entity that many relations away. With S the sum over distinct seeds (d = 0: of its heaviest match) or
entities (d > 0) that it mentions at that distance, its score is (2 - d) + S / (1 + S). So every chunk with a seed
comes first, more and rarer seeds before fewer and common ones; ties go by chunk id. Farther hops are walked only until
the window is full. Every bound that was met is named in `cut`.
"""

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import kglite

from fanfuse_backend_workers.adapters import kglite_queries as queries
from fanfuse_backend_workers.adapters.filter_values import Condition
from fanfuse_backend_workers.domain.analysis_names import ends_with_name, entity_key, last_name
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchError, SearchRequest
from fanfuse_contracts.enums import FailureKind

HOPS: Final = 2
MATCHES_PER_SEED: Final = 16
"""Dotted symbols that one last name stands for."""
SEED_MENTIONS: Final = 5_000
"""Chunks read of one seed, in the order of their ids."""
REACHED_MENTIONS: Final = 200
"""Chunks read of one entity that was reached by a relation."""
FAN_OUT: Final = 200
"""Relations followed from one entity, in each direction."""
FRONTIER: Final = 500
"""Entities kept per hop."""
ROWS: Final = 20_000
"""Rows of one statement."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity on the walk. `groups`: the seeds it stands for, or itself."""

    key: str
    weight: float
    groups: tuple[str, ...]
    mentions: int
    outgoing: int
    incoming: int

    @property
    def steps(self) -> int:
        """Most rows that one hop from here gives."""
        return min(self.outgoing, FAN_OUT) + min(self.incoming, FAN_OUT)


class Walk:
    """Runs one search; used once."""

    def __init__(
        self, session: kglite.Session, request: SearchRequest, condition: Condition | None, chunks: int, time_s: float
    ) -> None:
        self._session = session
        self._request = request
        self._condition = condition
        self._chunks = max(chunks, 1)
        self._until = time.monotonic() + time_s
        self._cuts: set[str] = set()

    def run(self) -> EngineResult:
        """Walk until the window is full; raises `SearchError(TIMEOUT)` if time is up before any hit."""
        hits: dict[str, EngineHit] = {}
        try:
            for distance, reached in enumerate(self._distances()):
                for hit in self._hits(distance, reached):
                    hits.setdefault(hit.chunk_id, hit)
                if len(hits) >= self._request.window:
                    break
        except kglite.CypherTimeoutError as error:
            if not hits:
                raise SearchError(FailureKind.TIMEOUT, "the graph walk took too long") from error
            self._cuts.add("time")
        ordered = sorted(hits.values(), key=lambda hit: (-hit.score, hit.chunk_id))
        return EngineResult(tuple(ordered[: self._request.window]), cut=", ".join(sorted(self._cuts)) or None)

    def _distances(self) -> Iterator[list[Reached]]:
        """The entities at distance 0, 1 and 2, heaviest first, each at its nearest distance."""
        reached = self._seeds()
        seen = {entity.key for entity in reached}
        yield reached
        for _ in range(HOPS):
            reached = self._step(reached, seen)
            seen |= {entity.key for entity in reached}
            yield reached

    def _seeds(self) -> list[Reached]:
        keys = [key for key in dict.fromkeys(map(entity_key, self._request.seeds)) if key]
        rows: dict[str, Row] = {}
        groups: dict[str, list[str]] = defaultdict(list)
        for key, row in self._matches(keys):
            rows[row["key"]] = row
            groups[row["key"]].append(key)
        return _heaviest(self._reached(row, 1.0, tuple(groups[key])) for key, row in rows.items())

    def _matches(self, keys: list[str]) -> Iterator[tuple[str, Row]]:
        """Seed and entity: by the whole name; failing that, by the end of a dotted symbol."""
        exact = {row["wanted"]: row for row in self._rows(queries.FIND_KEYS, keys)}
        yield from exact.items()
        rest = [key for key in keys if key not in exact]
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self._rows(queries.FIND_LAST_NAMES, sorted({last_name(key) for key in rest})):
            found[row["wanted"]].append(row)
        for key in rest:
            ending = [row for row in found[last_name(key)] if ends_with_name(row["key"], key)]
            self._cut("seed matches", len(ending) > MATCHES_PER_SEED)
            yield from ((key, row) for row in ending[:MATCHES_PER_SEED])

    def _step(self, parents: list[Reached], seen: set[str]) -> list[Reached]:
        """The entities one relation on that were not met before."""
        parents = self._affordable(parents, [entity.steps for entity in parents])
        self._cut("fan-out", any(max(entity.outgoing, entity.incoming) > FAN_OUT for entity in parents))
        weights = {entity.key: entity.weight for entity in parents}
        rows: dict[str, Row] = {}
        given: dict[str, dict[str, float]] = defaultdict(dict)
        for statement in (queries.STEP_TO_OBJECTS, queries.STEP_TO_SUBJECTS):
            for row in self._rows(statement, list(weights), fan_out=FAN_OUT):
                if row["key"] not in seen:
                    rows[row["key"]] = row
                    given[row["key"]][row["parent"]] = weights[row["parent"]]
        reached = _heaviest(self._reached(row, math.fsum(given[key].values()), (key,)) for key, row in rows.items())
        self._cut("frontier", len(reached) > FRONTIER)
        return reached[:FRONTIER]

    def _reached(self, row: Row, given: float, groups: tuple[str, ...]) -> Reached:
        damp = math.log1p(self._chunks / max(row["mentions"], 1)) / math.log1p(self._chunks)
        return Reached(row["key"], given * damp, groups, row["mentions"], row["outgoing"], row["incoming"])

    def _hits(self, distance: int, reached: list[Reached]) -> Iterator[EngineHit]:
        limit = REACHED_MENTIONS if distance else SEED_MENTIONS
        reached = self._affordable(reached, [min(entity.mentions, limit) for entity in reached])
        self._cut("mentions", any(entity.mentions > limit for entity in reached))
        by_key = {entity.key: entity for entity in reached}
        statement, parameters = queries.mentioning(self._condition)
        weights: dict[str, dict[str, float]] = defaultdict(dict)
        rows: dict[str, Row] = {}
        for row in self._rows(statement, list(by_key), fan_out=limit, **parameters):
            rows[row["chunk_id"]] = row
            entity, best = by_key[row["key"]], weights[row["chunk_id"]]
            for group in entity.groups:
                best[group] = max(best.get(group, 0.0), entity.weight)
        for chunk_id, row in rows.items():
            total = math.fsum(weights[chunk_id].values())
            yield EngineHit(chunk_id, HOPS - distance + total / (1 + total), row["content_hash"], row["title"])

    def _affordable(self, entities: list[Reached], costs: list[int]) -> list[Reached]:
        """The first entities whose rows fit one statement."""
        spent = 0
        for index, cost in enumerate(costs):
            spent += cost
            if spent > ROWS:
                self._cut("rows", True)
                return entities[:index]
        return entities

    def _rows(self, statement: str, keys: list[str], **parameters: Any) -> Iterable[Row]:
        if not keys:
            return ()
        left_ms = max(1, int((self._until - time.monotonic()) * 1_000))
        owner = {"tenant": self._request.tenant, "corpus": self._request.corpus}
        found: Iterable[Row] = self._session.cypher(
            statement, params={"keys": keys, "rows": ROWS, **owner, **parameters}, timeout_ms=left_ms
        )
        return found

    def _cut(self, bound: str, met: bool) -> None:
        if met:
            self._cuts.add(bound)


def _heaviest(entities: Iterable[Reached]) -> list[Reached]:
    return sorted(entities, key=lambda entity: (-entity.weight, entity.key))
