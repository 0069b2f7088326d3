"""Budgets, blame, sampling, cancellations, texts and pools: the workers' small rules."""

import pytest

from fanfuse_backend_workers.domain.budget import time_for_search_ms
from fanfuse_backend_workers.domain.outcomes import OutcomeSampler, Row, is_backend_fault
from fanfuse_backend_workers.domain.pools import Pool, parse_pools
from fanfuse_backend_workers.domain.texts import texts_reply
from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_contracts import limits
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.retrieval import ChunkText, Failure
from fanfuse_runtime.cancelled import MAX_OF_TENANT, MAX_REMEMBERED, REMEMBERED_S, Cancelled
from fanfuse_runtime.settings import SettingsError

DOWN = Failure(kind=FailureKind.UNAVAILABLE, message="down")
BACKEND = (Kind.VECTOR, "main")


@pytest.mark.parametrize(
    ("remaining_ms", "budget_ms", "left_ms"),
    [(2_000.0, 2_000, 1_840.0), (160.0, 2_000, 0.0), (-5.0, 2_000, -165.0), (50.0, 50, 35.0)],
)
def test_a_search_leaves_time_for_its_reply(remaining_ms: float, budget_ms: int, left_ms: float) -> None:
    assert time_for_search_ms(remaining_ms, budget_ms) == left_ms


def test_request_faults_and_unfair_timeouts_are_not_the_backends() -> None:
    """HEA-02: neither failure nor success."""
    blamed = {kind for kind in FailureKind if is_backend_fault(kind, 1_000.0)}
    assert blamed == {FailureKind.UNAVAILABLE, FailureKind.TIMEOUT, FailureKind.OVERLOADED}
    assert not is_backend_fault(FailureKind.TIMEOUT, limits.FAIR_CALL_MS - 1)
    assert is_backend_fault(FailureKind.TIMEOUT, limits.FAIR_CALL_MS)
    assert is_backend_fault(FailureKind.UNAVAILABLE, 1.0)


def test_only_a_timeout_is_excused_by_a_bus_that_was_away() -> None:
    """What had waited is carried out at once; an engine that refuses is down all the same."""
    excused = {kind for kind in FailureKind if is_backend_fault(kind, 1_000.0)} - {
        kind for kind in FailureKind if is_backend_fault(kind, 1_000.0, interrupted=True)
    }
    assert excused == {FailureKind.TIMEOUT}


def test_successes_are_sampled_and_no_call_is_lost_or_counted_twice() -> None:
    sampler = OutcomeSampler()
    rows = [row for i in range(25) for row in sampler.observe(BACKEND, None, float(i) / 8)]
    assert rows == [Row(limits.SUCCESS_SAMPLE_EVERY)] * 2
    assert sampler.observe(BACKEND, DOWN, 3.5, asked_s=0.25) == (Row(5, age_s=0.5), Row(1, DOWN, 0.25))
    assert sampler.observe(BACKEND, DOWN, 3.6) == (Row(1, DOWN),)


def test_backends_are_sampled_apart_and_old_successes_are_forgotten() -> None:
    sampler = OutcomeSampler(sample_every=3)
    sampler.observe(BACKEND, None, 0.0)
    sampler.observe((Kind.VECTOR, "eu"), None, 0.0)
    assert sampler.observe(BACKEND, None, limits.HEALTH_WINDOW_S + 1) == ()
    assert sampler.observe(BACKEND, DOWN, limits.HEALTH_WINDOW_S + 2) == (Row(1, age_s=1.0), Row(1, DOWN))


def test_cancellations_are_bounded_in_time_and_number() -> None:
    cancelled = Cancelled()
    cancelled.remember(("acme", "q1"), 0.0)
    assert ("acme", "q1") in cancelled
    assert ("globex", "q1") not in cancelled
    cancelled.remember(("acme", "q2"), REMEMBERED_S + 1)
    assert ("acme", "q1") not in cancelled
    for number in range(MAX_REMEMBERED + 5):
        cancelled.remember((f"t{number % 20}", str(number)), REMEMBERED_S + 2)
    assert [(f"t{number}", str(number)) in cancelled for number in (0, 4, 5)] == [False, False, True]


def test_a_tenant_that_cancels_without_end_takes_no_room_of_others() -> None:
    cancelled = Cancelled()
    cancelled.remember(("globex", "q1"), 0.0)
    for number in range(3 * MAX_REMEMBERED):
        cancelled.remember(("acme", str(number)), 1.0)
    assert ("globex", "q1") in cancelled
    known = [number for number in range(3 * MAX_REMEMBERED) if ("acme", str(number)) in cancelled]
    assert known == list(range(MAX_OF_TENANT))
    cancelled.remember(("acme", "q1"), REMEMBERED_S + 2)
    assert [key in cancelled for key in (("acme", "q1"), ("acme", "0"))] == [True, False]


def test_texts_fit_and_what_is_left_out_is_not_gone() -> None:
    found = {i: ChunkText(chunk_id=i, text="é" * size) for i, size in (("a", 10), ("b", 500), ("c", 10))}
    reply = texts_reply(["c", "x", "b", "a", "c"], found, 200)
    assert ([chunk.chunk_id for chunk in reply.chunks], reply.gone) == (["c", "a"], ("x",))
    assert len(reply.to_json()) <= 200
    assert len(texts_reply(["c", "x", "b", "a"], found, 10_000).chunks) == 3


def test_pools_are_read_and_bad_ones_refused() -> None:
    assert parse_pools(" vector/main, keyword/eu ,") == (Pool(Kind.VECTOR, "main"), Pool(Kind.KEYWORD, "eu"))
    for text in ("", ",", "vector", "image/main", "vector/", "vector/a.b", "vector/*", "vector/main,vector/main"):
        with pytest.raises(ValueError, match=r"."):
            parse_pools(text)


def test_settings_come_from_the_environment_and_blank_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """CFG-02."""
    for name in ("POOLS", "IN_FLIGHT", "IN_FLIGHT_PER_CORPUS", "EMBEDDER_THREADS"):
        monkeypatch.setenv(f"FANFUSE_WORKER_{name}", "")
    settings = WorkerSettings()
    assert [pool.kind for pool in settings.pools] == list(Kind)
    assert (settings.in_flight, settings.in_flight_per_corpus) == (
        limits.WORKER_IN_FLIGHT,
        limits.WORKER_IN_FLIGHT_PER_CORPUS,
    )
    monkeypatch.setenv("FANFUSE_WORKER_POOLS", "graph/main")
    monkeypatch.setenv("FANFUSE_WORKER_IN_FLIGHT", "3 ")
    assert (WorkerSettings().pools, WorkerSettings().in_flight) == ((Pool(Kind.GRAPH, "main"),), 3)
    monkeypatch.setenv("FANFUSE_WORKER_POOLS", "graph")
    with pytest.raises(SettingsError, match="FANFUSE_WORKER_POOLS"):
        WorkerSettings()
