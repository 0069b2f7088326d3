"""Can lanes that have not replied yet still change the first hits of the fused list? Exact, never a guess.

In: the lists that are here, the lanes that are missing, how they are fused. Out: yes or no, for the ids and the order
of the first `depth` hits. A missing lane may find nothing, or any chunk of its corpora, at any rank and score.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import fsum, inf, nextafter

from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.plan import Lane
from fanfuse_fuser.domain.copies import collapse, content_hashes
from fanfuse_fuser.domain.coverage import corpora_of
from fanfuse_fuser.domain.fusion import ranked_rows
from fanfuse_fuser.domain.policies import Policy, build_policy
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_fuser.domain.rows import Polls, Row, first_vote_of, identity_of, poll
from fanfuse_fuser.domain.seats import SEAT_WINDOW, first_hits, holds_seat

Gains = Mapping[str, float]
"""By corpus: the most that the missing lanes together can add to one of its chunks."""


def settled(
    lists: Sequence[RankedList], missing: Sequence[Lane], plan: Sequence[Lane], config: FusionConfig, depth: int
) -> bool:
    """True if the first `depth` hits are the same chunks in the same order whatever the missing lanes would bring.

    `lists` and `missing` are lanes of `plan`, which says their order.
    """
    policy = build_policy(config)
    gains = _most((lane, policy.best(lane.weight)) for lane in missing)
    if not _worth_a_look(lists, policy, gains, config, depth):
        return False
    polls = poll(lists, policy)
    rows = ranked_rows(polls)
    prefix = _prefix(rows, polls, depth, collapsing=config.collapse)
    if prefix is None or not _stays_ahead(rows, prefix, gains):
        return False
    if config.collapse and not _hashes_are_fixed(rows[:prefix], polls, missing, plan):
        return False
    return not config.reserved_seats or _no_seat_reaches(rows, polls, lists, missing, config, depth)


def seats_decide(config: FusionConfig, depth: int) -> bool:
    """True if every missing lane counts: its first hits come into the first ten, whatever their score."""
    return config.reserved_seats > 0 and depth >= SEAT_WINDOW


def _most(values: Iterable[tuple[Lane, float]]) -> Gains:
    parts: dict[str, list[float]] = {}
    for lane, value in values:
        for corpus in corpora_of(lane):
            parts.setdefault(corpus, []).append(value)
    return {corpus: fsum(found) for corpus, found in parts.items()}


def _worth_a_look(lists: Sequence[RankedList], policy: Policy, gains: Gains, config: FusionConfig, depth: int) -> bool:
    """False where the weights alone rule it out, which is nearly always: nothing is sorted then."""
    if seats_decide(config, depth):
        return False
    here = _most((one.lane, policy.best(one.lane.weight)) for one in lists if one.hits)
    most, least_gain = max(here.values(), default=0.0), min(gains.values())
    # Hits of a corpus with a missing lane must each be a whole gain apart.
    apart = depth if here.keys() <= gains.keys() else 1
    return most > max(gains.values()) and most > apart * least_gain


def _prefix(rows: Sequence[Row], polls: Polls, depth: int, *, collapsing: bool) -> int | None:
    """How many rows become the first `depth` hits; None where there are not so many."""
    if not collapsing:
        return depth if len(rows) >= depth else None
    hashes = {corpus: content_hashes(found) for corpus, found in polls.items()}
    seen: dict[str, str] = {}
    kept = 0
    for at, row in enumerate(rows, start=1):
        content_hash = hashes[row[2]][row[1]]
        kept += not content_hash or seen.setdefault(content_hash, row[2]) == row[2]
        if kept == depth:
            return at
    return None


def _stays_ahead(rows: Sequence[Row], prefix: int, gains: Gains) -> bool:
    """True if no row, and no chunk that nobody found yet, can come before a row of the prefix that it is behind now."""
    behind: dict[str, float] = {}
    for row in islice(rows, prefix, None):
        behind.setdefault(row[2], row[0])
    threat = max(_at_most(behind.get(corpus, 0.0), gain) for corpus, gain in gains.items())
    for row in reversed(rows[:prefix]):
        score = row[0]
        if score <= threat:
            return False
        gain = gains.get(row[2])
        if gain is not None:
            threat = max(threat, _at_most(score, gain))
    return True


def _at_most(score: float, gain: float) -> float:
    """No sum of votes that were added exactly and rounded once can be above this."""
    return nextafter(nextafter(score + gain, inf), inf)


def _hashes_are_fixed(prefix: Iterable[Row], polls: Polls, missing: Sequence[Lane], plan: Sequence[Lane]) -> bool:
    """True if no missing lane can give a row another content hash: the first lane in the plan's order states it."""
    place = {lane.name: at for at, lane in enumerate(plan)}
    first: dict[str, int] = {}
    for lane in missing:
        for corpus in corpora_of(lane):
            first[corpus] = min(place[lane.name], first.get(corpus, len(plan)))
    return all(place[first_vote_of(row, polls).lane.name] < first.get(row[2], len(plan)) for row in prefix)


def _no_seat_reaches(
    rows: Sequence[Row],
    polls: Polls,
    lists: Sequence[RankedList],
    missing: Sequence[Lane],
    config: FusionConfig,
    depth: int,
) -> bool:
    """True if every hit that a reserved seat could lift pushes out a hit behind the first `depth`."""
    kept, copies = collapse(rows, polls) if config.collapse else (list(rows), {})
    seats = config.reserved_seats
    firsts = first_hits(lists, seats)
    free = sum(not holds_seat(row, copies, firsts) for row in kept[depth:SEAT_WINDOW])
    waiting = sum(holds_seat(row, copies, firsts) for row in kept[SEAT_WINDOW:])
    # With another order, or another hash, a copy is a hit of its own.
    waiting += sum(identity_of(copy) in firsts for same in copies.values() for copy in same)
    return waiting + seats * len(missing) <= free
