"""What is told of the way each corpus was searched, as attributes, spans and log events."""

import asyncio

import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider, StatusCode, Tracer

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import FailureKind, Kind, Stage
from fanfuse_contracts.query import Hop
from fanfuse_contracts.tracing import RETRIEVE_ROUTE
from fanfuse_fuser.adapters.narration import TracedRoutes
from fanfuse_fuser.domain.routes import EVENT, planned_at_ms, routes_of
from fanfuse_fuser.joining import PlanRun, World
from fanfuse_runtime.logs import configure_logs
from tests.unit.fuser.fuser_builders import (
    LoopClock,
    MemoryPools,
    MemoryReplies,
    MemoryTexts,
    failed,
    hits,
    lane,
    planned,
    raw,
    reply,
)

LANES = (lane("vector"), lane("keyword"), lane("keyword", "wiki"))
REPLIES = (
    failed(LANES[0], FailureKind.EMBEDDER),
    reply(LANES[1], hits("a", "b")),
    failed(LANES[2], FailureKind.TIMEOUT),
)
PLAN = planned(LANES).model_copy(
    update={"hops": (Hop(stage=Stage.CORPUS_ROUTER, at_ms=7.0, took_ms=1.0),), "submitted_ns": 1}
)


async def answered() -> Answer:
    pools = MemoryPools()
    pools.gone = {(Kind.GRAPH, "main")}
    world = World(MemoryReplies([raw(one) for one in REPLIES]), MemoryTexts(), pools, LoopClock())
    return (await PlanRun(PLAN, world).run()).answer


def test_one_row_per_selected_corpus_says_what_was_decided_and_what_came_of_it():
    docs, wiki = routes_of(asyncio.run(answered()), 12.3456)
    assert docs == {
        "rag.tenant_id": "acme",
        "rag.corpus_id": "docs",
        "rag.route.shape": "mixed",
        "rag.route.use_vector": True,
        "rag.route.use_keyword": True,
        "rag.route.use_graph": True,
        "rag.route.bm25_fallback": True,
        "rag.route.degraded_n": 0,
        "rag.route.degraded": (),
        "rag.route.weight_vector": 1.0,
        "rag.route.weight_keyword": 1.0,
        "rag.route.weight_graph": 1.0,
        "rag.route.results_n": 2,
        "rag.route.elapsed_ms": 12.346,
    }
    assert wiki == dict(docs) | {
        "rag.corpus_id": "wiki", "rag.route.bm25_fallback": False, "rag.route.results_n": 0,
        "rag.route.error": "timeout",
    }  # fmt: skip


def test_a_plan_is_as_old_as_its_routers_hop():
    assert planned_at_ms(PLAN) == 7.0
    assert planned_at_ms(planned(LANES)) == 0.0


async def told(tracer: Tracer, level: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is on standard error after the answer was told inside a span of `tracer`."""
    answer, before = await answered(), structlog.get_config()
    configure_logs(level)
    try:
        routes = TracedRoutes(tracer, LoopClock(age_ms=100.0))
        capsys.readouterr()
        with tracer.start_as_current_span("fuser"):
            routes.tell(PLAN, answer)
    finally:
        structlog.configure(**before)
    return capsys.readouterr().err


async def test_spans_begin_with_the_plan_and_end_when_the_answer_is_out(capsys):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    logged = await told(provider.get_tracer("test"), "warning", capsys)
    docs, wiki, parent = exporter.get_finished_spans()
    assert (docs.name, wiki.name, parent.name) == (RETRIEVE_ROUTE, RETRIEVE_ROUTE, "fuser")
    for span in (docs, wiki):
        assert span.parent == parent.get_span_context()
        assert span.start_time is not None
        assert span.end_time is not None
        took_ms = (span.end_time - span.start_time) / 1e6
        assert took_ms == pytest.approx((span.attributes or {})["rag.route.elapsed_ms"], abs=0.01)
        assert 93.0 <= took_ms < 5_000.0, "100 ms since the query was stored, planned after 7 ms"
    assert (docs.status.status_code, wiki.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert wiki.status.description == "timeout"
    assert EVENT not in logged


@pytest.mark.parametrize("provider", [NoOpTracerProvider(), TracerProvider(sampler=ALWAYS_OFF)])
async def test_without_a_sampled_trace_only_the_log_tells(provider, capsys):
    logged = await told(provider.get_tracer("test"), "info", capsys)
    assert logged.count(EVENT) == 2
    assert '"rag.route.error": "timeout"' in logged
    assert await told(provider.get_tracer("test"), "warning", capsys) == ""
