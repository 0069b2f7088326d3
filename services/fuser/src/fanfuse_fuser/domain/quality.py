"""What each lane contributed to one answer.

In: an answer. Out: counts by kind, by pair of kinds, and by corpus and backend. Only hits of corpora in which at least
two lanes replied are compared: with the others lost, whatever is left would look irreplaceable.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from fanfuse_contracts.answer import Answer, AnswerHit, Contribution, LaneReport
from fanfuse_contracts.enums import Kind, LaneOutcome
from fanfuse_contracts.metrics import pair_of
from fanfuse_contracts.quality import LaneQuality
from fanfuse_fuser.domain.coverage import GONE, REPLIED_WELL, corpora_of


class Source(NamedTuple):
    """Whose lanes are counted together within a corpus."""

    kind: Kind
    backend: str


class Row(NamedTuple):
    """One count of `LaneQuality`."""

    corpus: str
    source: Source
    count: str


@dataclass(frozen=True, slots=True)
class Contributions:
    """Counts of one answer."""

    compared: Counter[Kind] = field(default_factory=Counter)
    found: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    """By kind, and `alone` or `together`."""
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By pair of kinds, and `both` or `one`."""
    seats: Counter[Kind] = field(default_factory=Counter)
    rows: Counter[Row] = field(default_factory=Counter)


def contributions(answer: Answer) -> Contributions:
    """Count one answer."""
    counted = Contributions()
    reports = answer.coverage.lanes
    replied = _sources(reports, REPLIED_WELL)
    for count, sources in (("answers", replied), ("lost", _sources(reports, GONE))):
        counted.rows.update(Row(corpus, source, count) for corpus in sources for source in sources[corpus])
    lanes = {report.lane: Source(report.kind, report.backend) for report in reports if report.lane}
    for hit in answer.hits:
        _count_seat(counted, hit, lanes)
        _count_hit(counted, hit, replied.get(hit.corpus, set()))
    return counted


def lane_qualities(counts: Mapping[Row, int], corpus: str) -> tuple[LaneQuality, ...]:
    """The rows of one corpus as they are told."""
    own = {row: number for row, number in counts.items() if row.corpus == corpus}
    sources = sorted({row.source for row in own})
    return tuple(
        LaneQuality.model_validate(
            {"kind": source.kind, "backend": source.backend}
            | {row.count: number for row, number in own.items() if row.source == source}
        )
        for source in sources
    )


def _sources(reports: Iterable[LaneReport], outcomes: Set[LaneOutcome]) -> dict[str, set[Source]]:
    found: dict[str, set[Source]] = {}
    for report in reports:
        if report.outcome in outcomes:
            for corpus in corpora_of(report):
                found.setdefault(corpus, set()).add(Source(report.kind, report.backend))
    return found


def _count_seat(counted: Contributions, hit: AnswerHit, lanes: Mapping[str, Source]) -> None:
    source = lanes.get(hit.reserved_by) if hit.reserved_by else None
    if source is not None:
        counted.seats[source.kind] += 1
        counted.rows[Row(hit.corpus, source, "seats")] += 1


def _count_hit(counted: Contributions, hit: AnswerHit, replied: Set[Source]) -> None:
    if len(replied) < 2:
        return
    by = {_source(contribution) for contribution in hit.contributions}
    for source in replied:
        counted.rows[Row(hit.corpus, source, "compared")] += 1
    for source in by:
        counted.rows[Row(hit.corpus, source, "found")] += 1
        if len(by) == 1:
            counted.rows[Row(hit.corpus, source, "alone")] += 1
    _count_kinds(counted, {source.kind for source in by}, {source.kind for source in replied})


def _count_kinds(counted: Contributions, by: Set[Kind], replied: Set[Kind]) -> None:
    if len(replied) < 2:
        return
    counted.compared.update(replied)
    counted.found.update((kind, "alone" if len(by) == 1 else "together") for kind in by)
    for one, other in combinations(replied, 2):
        if one in by or other in by:
            counted.pairs[pair_of(one, other), "both" if one in by and other in by else "one"] += 1


def _source(contribution: Contribution) -> Source:
    return Source(contribution.kind, contribution.backend)
