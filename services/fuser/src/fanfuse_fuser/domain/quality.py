"""What each lane contributed to answers, added up.

In: answers. Out: counts by kind, by pair of kinds, and by corpus and backend. Only hits of corpora in which at least
two lanes replied are compared: with the others lost, whatever is left would look irreplaceable. Adding an answer is on
the way of every query: it counts sets of kinds as bits, and what they mean is worked out when it is told.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, NamedTuple

from fanfuse_contracts.answer import Answer, LaneReport
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.metrics import pair_of
from fanfuse_contracts.quality import LaneQuality
from fanfuse_fuser.domain.coverage import GONE, REPLIED_WELL, corpora_of

_BIT: Final = {kind: 1 << position for position, kind in enumerate(Kind)}
_COUNTS: Final = ("answers", "lost", "compared", "found", "alone", "seats")
_ANSWERS, _LOST, _COMPARED, _FOUND, _ALONE, _SEATS = range(len(_COUNTS))

Row = list[int]
"""One number per name in `_COUNTS`."""


class KindCounts(NamedTuple):
    """Hits by kind and by pair of kinds."""

    compared: Mapping[Kind, int]
    found: Mapping[tuple[Kind, str], int]
    """By kind, and `alone` or `together`."""
    pairs: Mapping[tuple[str, str], int]
    """By pair of kinds, and `both` or `one`."""
    seats: Mapping[Kind, int]


@dataclass(slots=True)
class Tally:
    """Counts of any number of answers, since they were last taken."""

    _rows: dict[str, dict[str, Row]] = field(default_factory=dict)
    """By `<tenant> <corpus>`, then by `<kind> <backend>`."""
    _kinds: dict[tuple[int, int], int] = field(default_factory=dict)
    """Hits by the kinds that replied for their corpus, and the kinds that found them, as bits."""
    _seats: dict[int, int] = field(default_factory=dict)

    def add(self, answer: Answer) -> None:
        """Count one answer."""
        replied: dict[str, dict[str, Row]] = {}
        masks: dict[str, int] = {}
        lanes: dict[str, tuple[str, int]] = {}
        for report in answer.coverage.lanes:
            source, bit = f"{report.kind.value} {report.backend}", _BIT[report.kind]
            if report.lane is not None:
                lanes[report.lane] = (source, bit)
            self._add_lane(answer.tenant, report, source, bit, replied, masks)
        for hit in answer.hits:
            by = {lanes[each.lane] for each in hit.contributions if each.lane in lanes}
            self._add_hit(replied.get(hit.corpus, {}), masks.get(hit.corpus, 0), by)
            if hit.reserved_by is not None and hit.reserved_by in lanes:
                source, bit = lanes[hit.reserved_by]
                self._seats[bit] = self._seats.get(bit, 0) + 1
                self._row(answer.tenant, hit.corpus, source)[_SEATS] += 1

    def _row(self, tenant: str, corpus: str, source: str) -> Row:
        rows = self._rows.setdefault(f"{tenant} {corpus}", {})
        if source not in rows:
            rows[source] = [0] * len(_COUNTS)
        return rows[source]

    def _add_lane(
        self,
        tenant: str,
        report: LaneReport,
        source: str,
        bit: int,
        replied: dict[str, dict[str, Row]],
        masks: dict[str, int],
    ) -> None:
        count = _ANSWERS if report.outcome in REPLIED_WELL else _LOST if report.outcome in GONE else None
        if count is None:
            return
        for corpus in corpora_of(report):
            row = self._row(tenant, corpus, source)
            row[count] += 1
            if count == _ANSWERS:
                replied.setdefault(corpus, {})[source] = row
                masks[corpus] = masks.get(corpus, 0) | bit

    def _add_hit(self, replied: dict[str, Row], mask: int, by: set[tuple[str, int]]) -> None:
        if len(replied) < 2:
            return
        for row in replied.values():
            row[_COMPARED] += 1
        found = 0
        for source, bit in by:
            found |= bit
            if source in replied:
                replied[source][_FOUND] += 1
                replied[source][_ALONE] += len(by) == 1
        key = (mask, found)
        self._kinds[key] = self._kinds.get(key, 0) + 1

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(map(len, self._rows.values()))

    def take_corpora(self) -> dict[tuple[str, str], tuple[LaneQuality, ...]]:
        """Rows by tenant and corpus since they were last taken."""
        taken, self._rows = self._rows, {}
        return {_name(key): tuple(map(_quality, rows, rows.values())) for key, rows in sorted(taken.items())}

    def take_kinds(self) -> KindCounts:
        """Counts by kind since they were last taken: what the bits mean."""
        taken, self._kinds = self._kinds, {}
        lifted, self._seats = self._seats, {}
        compared: Counter[Kind] = Counter()
        found: Counter[tuple[Kind, str]] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for (mask, bits), hits in taken.items():
            replied, by = _kinds_of(mask), set(_kinds_of(bits))
            if len(replied) < 2:
                continue
            for kind in replied:
                compared[kind] += hits
            for kind in by:
                found[kind, "alone" if len(by) == 1 else "together"] += hits
            for one, other in combinations(replied, 2):
                if one in by or other in by:
                    pairs[pair_of(one, other), "both" if one in by and other in by else "one"] += hits
        seats = {kind: lifted[bit] for kind, bit in _BIT.items() if bit in lifted}
        return KindCounts(compared, found, pairs, seats)


def _kinds_of(mask: int) -> list[Kind]:
    return [kind for kind, bit in _BIT.items() if mask & bit]


def _name(key: str) -> tuple[str, str]:
    tenant, _, corpus = key.partition(" ")
    return tenant, corpus


def _quality(source: str, row: Iterable[int]) -> LaneQuality:
    kind, _, backend = source.partition(" ")
    return LaneQuality(kind=Kind(kind), backend=backend, **dict(zip(_COUNTS, row, strict=True)))
