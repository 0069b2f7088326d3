"""When another worker is asked for texts: by what replies take, within bounds."""

import random

import pytest

from fanfuse_fuser.domain.patience import AT_FIRST_S, LONGEST_S, SHORTEST_S, Patience


def after(*took_s: float) -> Patience:
    patience = Patience()
    for one in took_s:
        patience.observe(one)
    return patience


def test_it_follows_what_replies_take():
    assert after().pause_s == AT_FIRST_S
    assert after(*[0.001] * 50).pause_s == SHORTEST_S
    assert after(*[1.0] * 50).pause_s == LONGEST_S
    assert 0.03 <= after(*[0.03] * 50).pause_s <= 0.04
    draw = random.Random(1)
    jitter = [draw.uniform(0.01, 0.05) for _ in range(500)]
    pause_s = after(*jitter).pause_s
    assert sum(one > pause_s for one in jitter) < 10, "what is only slow is not asked twice"


def test_it_recovers_from_one_slow_reply():
    patience = after(*[0.002] * 50, 0.5)
    assert patience.pause_s == LONGEST_S
    for _ in range(30):
        patience.observe(0.002)
    assert patience.pause_s < AT_FIRST_S


@pytest.mark.parametrize("timeout_s", [0.001, 0.01, 0.06, 0.25, 0.6, 2.0, 30.0])
def test_the_pauses_are_the_whole_timeout_and_few(timeout_s):
    for patience in (after(), after(0.001), after(1.0), after(0.03)):
        pauses = list(patience.pauses(timeout_s))
        assert sum(pauses) == pytest.approx(timeout_s)
        assert all(pause_s > 0 for pause_s in pauses)
        assert pauses[:-1] == sorted(pauses[:-1])
        assert len(pauses) <= 6 + timeout_s / LONGEST_S
