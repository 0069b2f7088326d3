"""Sums of counts over the last minutes: what came is in, what is too old is out, exactly."""

import random
from collections.abc import Iterable

import pytest

from fanfuse_all_in_one.quality_window import QualityWindow
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.quality import LaneQuality

DOCS, NEWS = ("acme", "docs"), ("acme", "news")
S = 1_000_000_000


def lane(kind: Kind = Kind.VECTOR, backend: str = "main", **counts: int) -> LaneQuality:
    return LaneQuality(kind=kind, backend=backend, **counts)


def window_of(events: Iterable[tuple[tuple[str, str], LaneQuality, int]], within_s: float = 900.0) -> QualityWindow:
    window = QualityWindow(within_s)
    for corpus, one, at_s in events:
        window.add(corpus, [one], at_s * S)
    return window


def test_counts_of_fusers_and_of_moments_add_up() -> None:
    one = lane(answers=1, compared=4, found=3, alone=2)
    two = lane(answers=2, lost=1, compared=6, found=2, alone=1, seats=1)
    other = lane(Kind.KEYWORD, "eu", answers=1)
    rows = window_of([(NEWS, other, 1), (DOCS, other, 1), (DOCS, one, 1), (DOCS, two, 60)]).rows()
    total = lane(answers=3, lost=1, compared=10, found=5, alone=3, seats=1)
    assert list(rows.items()) == [(DOCS, (total, other)), (NEWS, (other,))], "by corpus, then by kind and backend"


def test_what_is_too_old_is_taken_away_and_leaves_no_row() -> None:
    window = window_of([(DOCS, lane(answers=5), 0), (NEWS, lane(answers=2), 0), (DOCS, lane(answers=1), 800)])
    window.forget(900 * S)
    assert window.rows() == {DOCS: (lane(answers=6),), NEWS: (lane(answers=2),)}
    window.forget(920 * S)
    assert window.rows() == {DOCS: (lane(answers=1),)}
    window.forget(2_000 * S)
    assert window.rows() == {}


@pytest.mark.parametrize("seed", range(5))
def test_a_window_that_moved_equals_one_that_is_read_afresh(seed: int) -> None:
    draw = random.Random(seed)
    events = [
        (
            draw.choice((DOCS, NEWS)),
            lane(draw.choice(list(Kind)), answers=draw.randrange(9), alone=draw.randrange(3)),
            at,
        )
        for at in sorted(draw.randrange(3_000) for _ in range(400))
    ]
    moving, now_s = QualityWindow(900.0), 0
    for corpus, one, at_s in events:
        moving.add(corpus, [one], at_s * S)
        now_s = at_s
        moving.forget(now_s * S)
    afresh = window_of(events)
    afresh.forget(now_s * S)
    assert moving.rows() == afresh.rows() != {}
