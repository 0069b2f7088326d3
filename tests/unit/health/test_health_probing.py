"""Probes: one at a time over all replicas, leases, absent pools, targets, verdicts."""

import asyncio

import pytest

from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import BackendHealth, FailureKind, Kind, LaneOutcome
from fanfuse_contracts.filters import digest
from fanfuse_contracts.retrieval import Failure, LaneReply
from fanfuse_health.domain import probe
from fanfuse_health.domain.probe import Verdict

DEGRADED, HALF_OPEN, HEALTHY = BackendHealth.DEGRADED, BackendHealth.HALF_OPEN, BackendHealth.HEALTHY
POOL = (Kind.VECTOR, "main")


async def test_hea01_one_probe_for_all_replicas_whatever_arrives(world, fail):
    """HEA-01: 500 queries fail or arrive at the moment of half-open, 3 replicas, a probe of 5 s: one is in flight."""
    replicas = [world.replica() for _ in range(3)]
    await world.degrade(replicas[0])
    world.clock.pass_s(30.0)
    for number in range(500):
        await asyncio.gather(*(replica.monitor.on_outcome(fail(), 0.0) for replica in replicas))
        if number % 50 == 0:
            await asyncio.gather(*(replica.tick() for replica in replicas))
        world.clock.pass_s(0.01)
    assert (world.prober.running, world.prober.most, world.prober.sent) == (1, 1, 1)
    assert world.store.states == [(DEGRADED, 1), (HALF_OPEN, 2)]
    world.prober.release.set()
    await replicas[0].tick()
    assert world.store.states[-1] == (HEALTHY, 3)


async def test_hea01_a_lost_prober_frees_its_slot(world):
    """HEA-01: the replica that probes dies; another one probes when the lease is over."""
    lost, other = world.replica(), world.replica()
    await world.degrade(lost)
    world.clock.pass_s(30.0)
    await lost.tick()
    await lost.probing.stop()
    assert (world.prober.running, world.prober.sent) == (0, 1)
    world.clock.pass_s(9.9)
    await other.tick()
    assert world.prober.sent == 1
    world.clock.pass_s(0.1)
    world.prober.release.set()
    await other.tick()
    assert world.prober.sent == 2
    assert world.store.states == [(DEGRADED, 1), (HALF_OPEN, 2), (HALF_OPEN, 3), (HEALTHY, 4)]


async def test_a_prober_whose_lease_was_taken_decides_nothing(world):
    slow, other = world.replica(), world.replica()
    await world.degrade(slow)
    world.clock.pass_s(30.0)
    await slow.tick()
    world.clock.pass_s(10.0)
    await other.tick()
    assert world.store.states[-1] == (HALF_OPEN, 3)
    world.prober.answer = Verdict(False, "timeout")
    world.prober.release.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert world.store.states[3:] == [(DEGRADED, 4)], "exactly one of the two verdicts was stored"
    assert world.store.history[-1].reason == "probe failed: timeout"


async def test_a_failed_probe_waits_another_period(world):
    replica = world.replica()
    await world.degrade(replica)
    world.prober.answer = Verdict(False, "timeout")
    world.prober.release.set()
    world.clock.pass_s(30.0)
    await replica.tick()
    assert world.store.states[-1] == (DEGRADED, 3)
    world.clock.pass_s(29.0)
    await replica.tick()
    assert world.prober.sent == 1
    world.clock.pass_s(1.0)
    await replica.tick()
    assert world.prober.sent == 2


async def test_no_probe_while_no_worker_is_there_and_one_as_soon_as_it_is_back(world):
    replica = world.replica()
    await world.degrade(replica)
    world.absent.add(POOL)
    world.prober.release.set()
    for _ in range(100):
        world.clock.pass_s(1.0)
        gauges = await replica.tick()
    assert (world.prober.sent, gauges[world.key]) == (0, 1.0)
    world.absent.clear()
    await replica.tick()
    assert world.store.states[-1] == (HEALTHY, 3)


async def test_a_worker_that_restarts_does_not_wait_for_the_period(world):
    replica = world.replica()
    world.absent.add(POOL)
    await replica.tick()
    await world.degrade(replica)
    world.clock.pass_s(3.0)
    await replica.tick()
    world.absent.clear()
    world.prober.release.set()
    await replica.tick()
    assert world.store.states == [(DEGRADED, 1), (HALF_OPEN, 2), (HEALTHY, 3)]


async def kill_and_restart_the_worker(world, replica):
    """Its calls fail, its pool is absent, three seconds later it is there again."""
    await world.degrade(replica)
    world.absent.add(POOL)
    world.clock.pass_s(3.0)
    await replica.tick()
    world.absent.clear()
    await replica.tick()
    await replica.tick()


async def test_a_worker_that_is_killed_again_and_again_is_probed_at_once_each_time(world):
    """Neither a longer period nor the undamped one: an engine flaps, a worker that was missed does not."""
    replica, other = world.replica(), world.replica()
    world.prober.release.set()
    for kills in range(1, 6):
        await replica.tick()
        await other.tick()
        await kill_and_restart_the_worker(world, replica)
        assert world.store.states[-3:] == [(DEGRADED, 3 * kills - 2), (HALF_OPEN, 3 * kills - 1), (HEALTHY, 3 * kills)]
        assert world.store.history[-3].until_s == 30.0
        world.clock.pass_s(20.0)
    assert world.prober.sent == 5


async def test_an_engine_that_is_down_when_its_worker_is_back_waits_as_usual(world):
    replica = world.replica()
    await replica.tick()
    world.prober.answer = Verdict(False, "unavailable")
    world.prober.release.set()
    await kill_and_restart_the_worker(world, replica)
    assert (world.store.states[-1], world.prober.sent) == ((DEGRADED, 3), 1)
    for _ in range(29):
        world.clock.pass_s(1.0)
        await replica.tick()
    assert world.prober.sent == 1, "one early probe per return"
    world.clock.pass_s(1.0)
    await replica.tick()
    assert world.prober.sent == 2


async def test_a_worker_that_is_replaced_before_anybody_missed_it_counts_as_one_that_is_back(world):
    replica = world.replica()
    await replica.tick()
    world.workers = frozenset({"workers-1", "workers-2"})
    await world.degrade(replica)
    world.clock.pass_s(1.0)
    await replica.tick()
    assert world.prober.sent == 0, "the dead one was heard of less than three seconds ago"
    world.workers = frozenset({"workers-2"})
    world.prober.release.set()
    await replica.tick()
    assert world.store.states == [(DEGRADED, 1), (HALF_OPEN, 2), (HEALTHY, 3)]


async def test_one_of_two_workers_is_no_pool(world):
    replica = world.replica()
    for workers in ({"workers-1", "workers-2"}, {"workers-2"}, {"workers-2", "workers-3"}):
        world.workers = frozenset(workers)
        await replica.tick()
        await world.degrade(replica)
        world.clock.pass_s(1.0)
    await replica.tick()
    assert world.prober.sent == 0


async def test_who_has_just_begun_to_listen_misses_nobody(world):
    """Health restarts, or the broker: no worker was heard of yet, and then the one that was always there."""
    await world.degrade(world.replica())
    restarted = world.replica()
    for workers in (None, frozenset({"workers-1"}), None, frozenset({"workers-1"})):
        world.workers = workers
        world.clock.pass_s(3.0)
        await restarted.tick()
    assert world.prober.sent == 0


async def test_the_pool_vanishes_after_the_claim(world):
    replica = world.replica()
    await world.degrade(replica)
    world.clock.pass_s(30.0)
    await replica.monitor.refresh()
    replica.probing.tick()
    world.absent.add(POOL)
    for _ in range(20):
        await asyncio.sleep(0)
    assert world.prober.sent == 0
    assert world.store.history[-1].reason == "probe failed: no worker serves its pool"


async def test_the_gauge_speaks_of_every_wired_backend(world):
    replica = world.replica()
    assert await replica.tick() == {world.key: 0.0}
    world.absent.add(POOL)
    assert await replica.tick() == {world.key: 1.0}
    world.absent.clear()
    await world.degrade(replica)
    assert await replica.tick() == {world.key: 1.0}
    world.clock.pass_s(30.0)
    await replica.tick()
    assert await replica.tick() == {world.key: 0.5}
    world.prober.release.set()
    await replica.tick()
    assert await replica.tick() == {world.key: 0.0}


def card(corpus, chunks, *wirings, embedder=None):
    return CorpusCard(tenant="acme", corpus=corpus, chunks=chunks, backends=wirings, embedder=embedder)


def wired(kind=Kind.VECTOR, backend="main", pool="main"):
    return Wiring(kind=kind, backend=backend, pool=pool)


def test_targets_are_the_corpora_of_the_backend_the_smallest_first():
    cards = [card("big", 900, wired()), card("other", 1, wired(backend="eu")), card("small", 2, wired())]
    found = probe.targets(cards, Kind.VECTOR, "main")
    assert [target.card.corpus for target in found] == ["small", "big"]


def test_targets_take_turns_and_skip_absent_pools():
    cards = [card("a", 1, wired()), card("b", 2, wired(pool="hot")), card("c", 3, wired())]
    found = probe.targets(cards, Kind.VECTOR, "main")

    def chosen(version, absent):
        target = probe.choose(found, version, lambda _, pool: pool in absent)
        return target and target.card.corpus

    assert [chosen(version, ()) for version in range(4)] == ["a", "b", "c", "a"]
    assert [chosen(version, {"hot"}) for version in range(3)] == ["a", "c", "a"]
    assert chosen(0, {"hot", "main"}) is None


@pytest.mark.parametrize("kind", list(Kind))
def test_the_probe_is_the_smallest_search_of_the_services_own(kind):
    target = probe.Target(card("docs", 5, wired(kind)), wired(kind))
    command = probe.build_command(target, "probe-health-1-1", now_ns=7, budget_ms=2_000)
    assert (command.tenant, command.corpus, command.lane, command.window) == ("acme", "docs", "probe", 1)
    assert (command.kind, command.backend, command.submitted_ns, command.budget_ms) == (kind, "main", 7, 2_000)
    assert command.filter_digest == digest("acme", "docs", None)
    assert bool(command.seeds) == (kind is Kind.GRAPH)
    assert command.text
    assert command.vector is None


@pytest.mark.parametrize("local", [True, False])
def test_a_vector_engine_is_probed_with_a_vector_so_that_its_embedder_does_not_decide(local):
    spec = EmbedderSpec(model="minilm", dimensions=3, languages=("zh",), local=local)
    target = probe.Target(card("docs", 5, wired(), embedder=spec), wired())
    assert probe.build_command(target, "probe-1", 0, 2_000).vector == (1.0, 0.0, 0.0)


def reply(outcome, failure=None):
    return LaneReply(
        tenant="acme",
        query_id="probe-1",
        lane="probe",
        corpus="docs",
        kind=Kind.VECTOR,
        backend="main",
        outcome=outcome,
        failure=Failure(kind=failure, message="") if failure else None,
    )


@pytest.mark.parametrize("outcome", [LaneOutcome.ANSWERED, LaneOutcome.EMPTY, LaneOutcome.CUT])
def test_any_list_proves_the_backend_even_an_empty_one(outcome):
    assert probe.verdict(reply(outcome)) == (True, outcome.value)


@pytest.mark.parametrize("kind", list(FailureKind))
def test_a_failure_speaks_against_the_backend_only_where_it_is_to_blame(kind):
    """HEA-02: a request's own fault shows a backend that works; what was never tried shows nothing."""
    against = {FailureKind.UNAVAILABLE, FailureKind.TIMEOUT, FailureKind.OVERLOADED, FailureKind.EXPIRED}
    assert probe.verdict(reply(LaneOutcome.FAILED, kind)) == (kind not in against, kind.value)
