"""Cold lanes and lanes under pressure: left out before a query pays for them, and named."""

import pytest

from fanfuse_contracts.enums import FallbackReason, Kind, LaneOutcome
from fanfuse_contracts.health import ColdLane
from fanfuse_contracts.quorum import Requirement
from fanfuse_corpus_router.adapters.snapshot import Snapshots
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_runtime.pools import PoolLook

PRESSED = BackendFacts(pressed=frozenset({(Kind.VECTOR, "main")}))
MAY, SHOULD, MUST = Requirement.MAY, Requirement.SHOULD, Requirement.MUST


def of(plan, kind):
    """The skipped lanes of one kind."""
    return [lane for lane in plan.skipped if lane.kind is kind]


def test_a_cold_lane_is_left_out_for_its_corpus_only(build):
    facts = BackendFacts(cold=frozenset({("acme", "a", Kind.VECTOR, "main")}))
    two = (build.card("a", kinds=("vector", "keyword")), build.card("b", kinds=("vector", "keyword")))
    plan = build.plan(build.event(), *two, facts=facts)
    (cold,) = plan.skipped
    assert (cold.corpus, cold.outcome, cold.fallback_reason) == (
        "a",
        LaneOutcome.SKIPPED_UNHEALTHY,
        FallbackReason.NO_WORKER,
    )
    assert cold.reason == "cold: the workers of pool main are still opening it"
    assert {decision.corpus: decision.bm25_fallback for decision in plan.decisions} == {"a": True, "b": False}


def test_another_tenants_cold_corpus_of_the_same_name_is_another(build):
    facts = BackendFacts(cold=frozenset({("globex", "a", Kind.VECTOR, "main")}))
    assert build.plan(build.event(), build.card("a"), facts=facts).skipped == ()


@pytest.mark.parametrize(("requirement", "shed"), [(MAY, True), (SHOULD, False), (MUST, False)])
def test_only_what_may_be_missing_is_shed(build, requirement, shed):
    card = build.card("a", backends=(build.wiring("vector", requirement=requirement), build.wiring("keyword")))
    plan = build.plan(build.event(), card, facts=PRESSED)
    rows = of(plan, Kind.VECTOR)
    assert [row.outcome for row in rows] == ([LaneOutcome.SKIPPED_UNHEALTHY] if shed else [])
    for row in rows:
        assert row.reason == "pressure: a command of pool main has used up more than half of its budget"
        assert row.requirement is MAY
        assert row.shed
        assert plan.decisions[0].bm25_fallback, "keywords alone are left, through the fault of a backend"


def test_nothing_is_shed_without_pressure_or_of_another_pool(build):
    backends = (build.wiring("vector", requirement=MAY, pool="hot"), build.wiring("keyword", requirement=MAY))
    assert build.plan(build.event(), build.card("a", backends=backends), facts=PRESSED).skipped == ()
    assert build.plan(build.event(), build.card("a", backends=backends)).skipped == ()


def test_the_last_lanes_of_a_corpus_are_never_shed(build):
    """Also where another lane is lost: an answer late is better than none."""
    card = build.card("a", backends=(build.wiring("vector", requirement=MAY), build.wiring("keyword")))
    facts = BackendFacts(pressed=PRESSED.pressed, unhealthy=frozenset({(Kind.KEYWORD, "main")}))
    plan = build.plan(build.event(), card, facts=facts)
    assert [lane.kind for lane in plan.lanes] == [Kind.VECTOR]
    assert [lane.kind for lane in plan.skipped] == [Kind.KEYWORD]


class _Backends:
    unhealthy = frozenset({(Kind.GRAPH, "main")})
    revision = 1


def test_a_snapshot_takes_what_every_pool_says(build):
    cold = ColdLane(tenant="acme", corpus="a", backend="main")

    class Pools:
        def look(self, kind, pool):
            assert pool == "main"
            if kind is Kind.GRAPH:
                return PoolLook(absent=True)
            return PoolLook(cold=frozenset({cold} if kind is Kind.VECTOR else ()), under_pressure=kind is Kind.KEYWORD)

    facts = Snapshots(_Backends(), Pools()).take("acme", (build.card("a"),))
    assert facts == BackendFacts(
        unhealthy=_Backends.unhealthy,
        absent=frozenset({(Kind.GRAPH, "main")}),
        cold=frozenset({("acme", "a", Kind.VECTOR, "main")}),
        pressed=frozenset({(Kind.KEYWORD, "main")}),
    )


def test_pools_are_asked_for_every_snapshot_and_follow_the_cards(build):
    asked = []

    class Pools:
        def look(self, kind, pool):
            asked.append((kind, pool))
            return PoolLook(absent=True)

    snapshots, keyword = Snapshots(_Backends(), Pools()), (Kind.KEYWORD, "main")
    cards = (build.card("a", backends=(build.wiring("keyword"),)),)
    assert snapshots.take("acme", cards).absent == snapshots.take("acme", cards).absent == {keyword}
    assert asked == [keyword, keyword]
    moved = (build.card("a", backends=(build.wiring("vector"),)),)
    assert snapshots.take("acme", moved).absent == {(Kind.VECTOR, "main")}
    assert snapshots.take("globex", cards).absent == {keyword}
    assert snapshots.take("nobody", ()).absent == frozenset()
