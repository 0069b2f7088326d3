"""What heartbeats say of a pool: absent, cold, under pressure; by the ready workers alone."""

from typing import Any

import pytest

from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.health import ColdLane, Heartbeat, ServedPool
from fanfuse_runtime.pools import PoolLook, PoolsView

A, B = (ColdLane(tenant="acme", corpus=corpus, backend="main") for corpus in ("a", "b"))


class View:
    """A view with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0
        bus: Any = None
        self.pools = PoolsView(bus, lambda: self.now_s)

    def hear(self, instance: str, *, ready: bool = True, kind: Kind = Kind.VECTOR, **pool: Any) -> None:
        served = (ServedPool(kind=kind, pool="main", **pool),)
        self.pools.observe(
            Heartbeat(service=Stage.BACKEND_WORKERS, instance=instance, version="1.0.0", ready=ready, pools=served)
        )

    @property
    def look(self) -> PoolLook:
        return self.pools.look(Kind.VECTOR, "main")


@pytest.fixture
def view() -> View:
    return View()


def test_a_pool_is_absent_only_when_the_view_has_listened_long_enough(view):
    assert view.look == PoolLook()
    view.now_s += 3.0
    assert view.look == PoolLook(absent=True)
    view.hear("one", kind=Kind.GRAPH)
    view.hear("two", ready=False)
    assert view.look.absent
    view.hear("three")
    assert view.look == PoolLook()
    view.now_s += 3.1
    assert view.look.absent


def test_cold_is_what_no_ready_worker_has_open(view):
    view.hear("one", cold=(A, B))
    assert view.look.cold == {A, B}
    view.hear("two", cold=(B,))
    assert view.look.cold == {B}
    view.hear("three", ready=False)
    assert view.look.cold == {B}
    view.hear("one")
    assert view.look.cold == frozenset()


def test_one_worker_with_an_old_command_puts_its_pool_under_pressure(view):
    view.hear("one", oldest_share=0.5)
    assert not view.look.under_pressure
    view.hear("two", oldest_share=0.51)
    assert view.look.under_pressure
    view.hear("two", oldest_share=0.0)
    assert not view.look.under_pressure


def test_a_worker_lives_if_it_was_heard_while_somebody_waited_or_was_busy(view):
    def lives(waited_s):
        return view.pools.lives(Kind.VECTOR, "main", waited_s)

    assert not lives(2.0)
    view.hear("one")
    view.now_s += 1.1
    assert lives(0.5), "its next beat is not due yet"
    view.now_s += 0.4
    assert (lives(1.9), lives(2.1)) == (False, True), "a beat is read up to half a second after its worker was killed"
    view.hear("two", oldest_share=0.6)
    view.now_s += 2.9
    assert lives(1.4), "busy workers are late with their beats"
    view.now_s += 0.2
    assert not lives(1.4)


def test_who_serves_a_pool_is_unknown_until_the_view_has_listened_long_enough(view):
    def workers():
        return view.pools.workers(Kind.VECTOR, "main")

    assert workers() is None
    view.hear("one")
    assert workers() == {"one"}
    view.now_s += 2.0
    view.hear("two")
    view.hear("three", ready=False)
    view.hear("four", kind=Kind.GRAPH)
    assert workers() == {"one", "two"}
    view.now_s += 1.1
    assert workers() == {"two"}
    view.now_s += 3.0
    assert workers() == frozenset()
    view.pools.forget_time()
    assert workers() is None
