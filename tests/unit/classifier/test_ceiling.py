"""The ceiling of a tenant, as several replicas decide it from what each admitted and what the broker holds."""

import random
from dataclasses import dataclass, field

import pytest

from fanfuse_classifier.domain import ceiling as module
from fanfuse_classifier.domain.ceiling import Ceilings, Entry, count_valid_s


@dataclass
class Flow:
    """What the broker holds: queries by the moment at which they are answered."""

    replicas: int
    ceiling: int
    now_s: float = 100.0
    doors: list[Ceilings] = field(default_factory=list)
    answered_at_s: list[float] = field(default_factory=list)
    counts: int = 0

    def __post_init__(self) -> None:
        self.doors = [Ceilings() for _ in range(self.replicas)]

    @property
    def in_flight(self) -> int:
        self.answered_at_s = [at for at in self.answered_at_s if at > self.now_s]
        return len(self.answered_at_s)

    def ask(self, replica: int, takes_s: float, budget_s: float = 2.0, tenant: str = "acme") -> bool:
        door = self.doors[replica]
        entry = door.enter(tenant, self.now_s, budget_s, self.ceiling, self.replicas)
        if entry is Entry.COUNT:
            self.counts += 1
            door.counted(tenant, self.now_s, self.in_flight)
            entry = door.enter(tenant, self.now_s, budget_s, self.ceiling, self.replicas)
        if entry is Entry.ADMIT:
            door.passed(tenant)
            self.answered_at_s.append(self.now_s + takes_s)
        assert entry is not Entry.COUNT
        return entry is Entry.ADMIT


@pytest.mark.parametrize("replicas", [1, 2, 3, 7])
@pytest.mark.parametrize("ceiling", [1, 2, 20, 256])
def test_however_a_flood_is_spread_the_ceiling_holds_and_is_used(replicas, ceiling):
    flow, chance = Flow(replicas, ceiling), random.Random(replicas * 1_000 + ceiling)
    most = admitted = 0
    for _ in range(4_000):
        flow.now_s += 0.002
        for _ in range(3):
            admitted += flow.ask(chance.randrange(replicas), takes_s=chance.uniform(0.2, 1.9))
        most = max(most, flow.in_flight)
    assert most <= ceiling * 9 / 8 + replicas
    assert most >= ceiling * 0.9
    assert admitted >= 8.0 / 1.9 * ceiling * 0.7
    assert flow.counts <= replicas * 8.0 / count_valid_s(ceiling) * 1.2


def test_a_tenant_far_below_its_ceiling_is_never_counted():
    flow, chance = Flow(replicas=2, ceiling=256), random.Random(3)
    for _ in range(2_000):
        flow.now_s += 0.2
        assert flow.ask(chance.randrange(2), takes_s=0.05)
    assert flow.counts == 0


def test_a_replica_that_was_idle_adds_at_most_an_eighth():
    flow = Flow(replicas=2, ceiling=80)
    assert sum(flow.ask(0, takes_s=9.0, budget_s=9.0) for _ in range(100)) >= 40
    for _ in range(50):
        flow.now_s += 0.11
        flow.ask(0, takes_s=9.0, budget_s=9.0)
    assert flow.in_flight == 80
    assert sum(flow.ask(1, takes_s=9.0, budget_s=9.0) for _ in range(100)) <= 10


def test_fast_answers_make_room_long_before_the_budgets_end():
    flow = Flow(replicas=1, ceiling=10)
    for _ in range(500):
        flow.now_s += 0.02
        assert flow.ask(0, takes_s=0.01, budget_s=30.0)


@pytest.mark.parametrize("ceiling", [1, 2, 8, 32, 256])
def test_a_tenant_at_its_ceiling_can_use_it(ceiling):
    """As many callers as allowed; each asks again when it has its answer, after 40 ms, or 20 ms after a refusal."""
    flow, chance = Flow(replicas=1, ceiling=ceiling), random.Random(ceiling)
    next_s = [flow.now_s + chance.random() * 0.04 for _ in range(ceiling)]
    began_s, admitted = flow.now_s, 0
    for _ in range(4_000):
        caller = min(range(ceiling), key=next_s.__getitem__)
        flow.now_s = max(flow.now_s, next_s[caller])
        enters = flow.ask(0, takes_s=0.04)
        admitted += enters
        next_s[caller] = flow.now_s + (0.041 if enters else 0.02)
    assert admitted / (flow.now_s - began_s) > 0.75 * ceiling / 0.041


@pytest.mark.parametrize(("ceiling", "valid_s"), [(1, 0.01), (256, 0.01024), (1_000, 0.04), (10_000, 0.1)])
def test_a_count_is_believed_for_longer_where_it_reads_much(ceiling, valid_s):
    assert count_valid_s(ceiling) == pytest.approx(valid_s)


def test_one_tenants_flood_takes_nothing_of_another():
    flow = Flow(replicas=1, ceiling=5)
    assert [flow.ask(0, takes_s=9.0, budget_s=9.0) for _ in range(8)] == [True] * 5 + [False] * 3
    flow.answered_at_s.clear()
    assert flow.ask(0, takes_s=9.0, tenant="globex")


def test_what_a_count_cannot_see_yet_is_counted_too():
    """Many queries are handled at once: the first of them are not stored when the last are decided."""
    doors = Ceilings()
    found = []
    for _ in range(30):
        entry = doors.enter("acme", 100.0, 2.0, 10, 1)
        if entry is Entry.COUNT:
            doors.counted("acme", 100.0, 0)
            entry = doors.enter("acme", 100.0, 2.0, 10, 1)
        found.append(entry)
    assert found == [Entry.ADMIT] * 10 + [Entry.REFUSE] * 20


def test_without_a_ceiling_nothing_is_remembered():
    doors = Ceilings()
    assert all(doors.enter("acme", 0.0, 2.0, 0, 1) is Entry.ADMIT for _ in range(10_000))
    assert doors == Ceilings()


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_TENANTS", 3)
    doors = Ceilings()
    for number in range(100):
        for _ in range(50):
            doors.enter(f"t{number}", 0.0, 2.0, 10, 1)
    assert list(doors._tenants) == ["t97", "t98", "t99"]
    assert all(len(known.ends_s) <= 10 for known in doors._tenants.values())
    doors.counted("t1", 0.0, 5)
    assert "t1" not in doors._tenants
