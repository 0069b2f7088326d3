"""What an operator sees of a process: /healthz, /readyz, and every declared metric from the first scrape on."""

import asyncio
from itertools import product
from pathlib import Path

import pytest
from nats.aio.msg import Msg
from prometheus_client.parser import text_string_to_metric_families

from fanfuse_contracts import metrics
from fanfuse_contracts.enums import Kind, Stage, Status
from fanfuse_contracts.metrics import OTHER, MetricKind, MetricSpec, Open
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import Flow, eventually, running_flow
from fanfuse_testing.processes import get_page
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEVER_AT_REST = (metrics.READY, metrics.BUS_CONNECTED, metrics.REGISTRY_AGE_SECONDS, metrics.TASKS)
"""Gauges of what a running process has."""
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
TENANT = "acme"


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def expected(spec: MetricSpec) -> list[tuple[str, frozenset[tuple[str, str]]]]:
    """The samples a metric must have before anything happened."""
    if any(isinstance(values, Open) and not values.is_configured for _, values in spec.labels):
        return []  # filled from what is wired
    suffix = "_count" if spec.kind is MetricKind.HISTOGRAM else ""
    names = [label for label, _ in spec.labels]
    sets = product(*((OTHER,) if isinstance(values, Open) else values for _, values in spec.labels))
    return [(f"{spec.name}{suffix}", frozenset(zip(names, values, strict=True))) for values in sets]


async def page(flow: Flow, path: str) -> tuple[int, str]:
    assert flow.process.ops is not None
    return await get_page(flow.process.ops.port, path)


async def test_every_metric_is_there_at_zero_on_the_first_scrape(flow: Flow) -> None:
    """OBS-02: zero differs from not wired, and `rate()` sees the first event."""
    status, text = await page(flow, "/metrics")
    assert status == 200
    found = samples(text)
    wanted = [key for spec in metrics.METRICS if spec not in NEVER_AT_REST for key in expected(spec)]
    assert len(wanted) > 50
    assert {key: found.get(key) for key in wanted} == dict.fromkeys(wanted, 0.0)
    assert all((spec.name, frozenset()) in found for spec in NEVER_AT_REST)
    families = {family.name for family in text_string_to_metric_families(text)}
    assert families >= {spec.name.removesuffix("_total") for spec in metrics.METRICS}


async def test_every_wired_backend_has_its_gauge_before_any_trouble(flow: Flow) -> None:
    """OBS-02: a dashboard shows it as healthy, not as missing."""
    await flow.index(TENANT, "docs", library(), FIELDS)
    name = metrics.BACKEND_DEGRADED.name
    wanted = [(name, frozenset({("kind", kind.value), ("backend", "main")})) for kind in Kind]

    async def gauges() -> Samples | None:
        found = samples((await page(flow, "/metrics"))[1])
        return {key: found[key] for key in wanted} if all(key in found for key in wanted) else None

    assert await eventually(gauges) == dict.fromkeys(wanted, 0.0)


async def test_a_single_event_is_seen(flow: Flow) -> None:
    before = samples((await page(flow, "/metrics"))[1])
    async with flow.client(TENANT) as client:
        assert (await client.ask(QUESTION, graph_seeds=SEEDS)).status is Status.COMPLETE
    after = samples((await page(flow, "/metrics"))[1])
    key = ("fanfuse_queries_total", frozenset({("status", "complete"), ("tenant_class", "other")}))
    lanes = [
        ("fanfuse_join_lanes_total", frozenset({("kind", kind.value), ("backend", "main"), ("outcome", "answered")}))
        for kind in Kind
    ]
    assert after[key] - before[key] == 1
    assert [after[lane] - before[lane] for lane in lanes] == [1, 1, 1]
    for stage in (Stage.CLASSIFIER, Stage.CORPUS_ROUTER, Stage.FUSER, Stage.BACKEND_WORKERS):
        handled = ("fanfuse_stage_seconds_count", frozenset({("stage", stage.value)}))
        await eventually(lambda handled=handled: flow_count(flow, handled) > before[handled])  # type: ignore[misc]
    assert all(after[name] >= value for name, value in before.items() if name[0].endswith("_total"))


def flow_count(flow: Flow, key: tuple[str, frozenset[tuple[str, str]]]) -> float:
    return flow.metric(key[0], **dict(key[1]))


async def test_alive_and_ready(flow: Flow) -> None:
    for path in ("/healthz", "/readyz"):
        assert await page(flow, path) == (200, '{"status":"ok"}')
    assert (await page(flow, "/nothing"))[0] == 404


async def test_without_a_bus_a_process_is_alive_and_not_ready(tmp_path: Path) -> None:
    with NatsServer(tmp_path / "nats") as server:
        async with running_flow(server.url, tmp_path / "data") as flow:
            await flow.index(TENANT, "docs", library(), FIELDS)
            server.kill()

            async def is_unready() -> bool:
                status, text = await page(flow, "/readyz")
                return status == 503 and "NATS" in text

            await eventually(is_unready)
            assert (await page(flow, "/healthz"))[0] == 200
            server.start()

            async def is_ready() -> bool:
                return (await page(flow, "/readyz"))[0] == 200

            await eventually(is_ready)

            async def is_answered() -> bool:
                async with flow.client(TENANT) as client:
                    return (await client.ask(QUESTION)).status is Status.COMPLETE

            assert await eventually(is_answered, within_s=60.0)


async def test_two_sets_of_services_in_one_process_count_apart(flow: Flow) -> None:
    """OBS-04: each has a registry of its own."""
    async with running_flow(flow.url, flow.data_dir) as second:
        found = samples((await page(second, "/metrics"))[1])
        assert found["fanfuse_queries_total", frozenset({("status", "complete"), ("tenant_class", "other")})] == 0.0
    assert flow.metric("fanfuse_queries_total", status="complete") >= 1


async def test_what_a_slow_listener_loses_is_counted(flow: Flow) -> None:
    """NAT-01: a full subscription drops core messages and says how many; work queues lose nothing meanwhile."""
    heard = 0
    open_gate = asyncio.Event()

    async def hear(_: Msg) -> None:
        nonlocal heard
        await open_gate.wait()
        heard += 1

    before = flow.metric("fanfuse_slow_consumer_total")
    slow = flow.process.context.bus.nc
    subscription = await slow.subscribe("test.slow", cb=hear, pending_msgs_limit=100)
    await slow.flush()
    for _ in range(1_000):
        await flow.operator.bus.nc.publish("test.slow", b"")
    await flow.operator.bus.nc.flush()

    async with flow.client(TENANT) as client:
        assert (await client.ask(QUESTION, graph_seeds=SEEDS)).status is Status.COMPLETE
    open_gate.set()
    await eventually(lambda: heard + flow.metric("fanfuse_slow_consumer_total") - before == 1_000)
    assert 100 <= heard <= 102
    await subscription.unsubscribe()
