"""One trace per query through every hop: the expected edges are data, and real traces are walked to prove each."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client as NatsClient
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, format_span_id, format_trace_id

from fanfuse_contracts import headers, streams, subjects, tracing
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Status
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.tracing import (
    CALLER,
    CHUNKS,
    CLASSIFIED,
    CORPUS_ROUTE,
    DECIDE,
    DELIVERIES,
    PLANNED,
    RETRIEVE,
    RETRIEVE_ROUTE,
    ROUTE_DECIDE,
    SUBMITTED,
)
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.setup import ensure_topology
from fanfuse_testing.flow import Flow, eventually, running_flow
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library
from tests.flow.registered_cards import register

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
FLOW_EDGES = {span: parent for span, parent in tracing.EDGES.items() if span not in {DECIDE, ROUTE_DECIDE}}
"""Those of a query that is answered."""
TIMES = dict.fromkeys(FLOW_EDGES, 1) | {RETRIEVE: 3}
"""How often each span stands in the trace of a query with three lanes in one corpus."""
SPECS = {spec.name: spec for spec in tracing.SPANS}
CLOCK_ERROR_NS = 100_000_000
"""Far more than half a round trip to the broker."""
BODY = SubmittedQuery(text=QUESTION, graph_seeds=SEEDS, principal=Principal(id="tester"), budget_ms=20_000).to_json()


@dataclass(frozen=True, slots=True)
class Traced:
    flow: Flow
    exporter: InMemorySpanExporter
    caller: NatsClient

    async def ask(self, query_id: str, traceparent: str | None, body: bytes = BODY) -> Answer:
        """A query from a caller without our client."""
        listening = await self.caller.subscribe(subjects.query_answered(TENANT, query_id), max_msgs=1)
        await self.caller.flush()
        carried = {} if traceparent is None else {headers.TRACEPARENT: traceparent}
        await self.caller.publish(subjects.query_submitted(TENANT, query_id), body, headers=carried or None)
        return Answer.from_json((await listening.next_msg(timeout=30)).data)

    async def spans(self, wanted: int, *, at_least: bool = False) -> list[ReadableSpan]:
        """The next `wanted` finished spans; there must be no more, unless a busy machine may deliver some again.

        A slow reply to `chunks.get` is asked for again: such a second request under one fuser span is left out.
        """
        await eventually(lambda: len(self._finished()) >= wanted)
        await asyncio.sleep(2.0 if at_least else 0.1)
        spans = self._finished()
        self.exporter.clear()
        assert len(spans) == wanted or (at_least and len(spans) > wanted), Counter(span.name for span in spans)
        return spans

    def _finished(self) -> list[ReadableSpan]:
        spans = self.exporter.get_finished_spans()
        texts = {span.parent.span_id: span for span in spans if span.name == CHUNKS and span.parent}
        return [span for span in spans if span.name != CHUNKS or span in texts.values()]


@asynccontextmanager
async def running_traced(server: NatsServer, exporter: InMemorySpanExporter, data_dir: Path) -> AsyncIterator[Traced]:
    processor = SimpleSpanProcessor(exporter)
    async with running_flow(server.url, data_dir, span_processor=processor) as flow:
        caller = await nats.connect(server.url)
        await flow.index(TENANT, "docs", library(), FIELDS)
        yield Traced(flow, exporter, caller)
        await caller.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Traced]:
    folder = tmp_path_factory.mktemp("traced")
    with NatsServer(folder / "nats") as server, pytest.MonkeyPatch.context() as environment:
        # Fifty queries at once must all be searched, on a busy machine too.
        environment.setenv("FANFUSE_WORKER_IN_FLIGHT_PER_CORPUS", "64")
        environment.setenv("FANFUSE_WORKER_IN_FLIGHT", "64")
        async with running_traced(server, InMemorySpanExporter(), folder / "data") as traced:
            yield traced


@pytest.fixture
def traced(running: Traced) -> Traced:
    running.exporter.clear()
    return running


def context(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


def begins(span: ReadableSpan) -> int:
    assert span.start_time is not None
    return span.start_time


def ends(span: ReadableSpan) -> int:
    assert span.end_time is not None
    return span.end_time


def edges(spans: Iterable[ReadableSpan], root: str) -> Counter[tuple[str, str]]:
    """(parent, span) by name; a parent outside is `CALLER` if it has the id `root`."""
    spans = list(spans)
    names = {context(span).span_id: span.name for span in spans}
    found: Counter[tuple[str, str]] = Counter()
    for span in spans:
        parent = span.parent
        outside = "nothing" if parent is None else CALLER if format_span_id(parent.span_id) == root else "unknown"
        found[names.get(parent.span_id, outside) if parent else outside, span.name] += 1
    return found


def expected(caller: str = CALLER) -> Counter[tuple[str, str]]:
    return Counter({(caller if p == CALLER else p, name): TIMES[name] for name, p in FLOW_EDGES.items()})


PER_QUERY = sum(TIMES.values())


async def test_the_trace_of_a_query_has_the_expected_edges(traced: Traced) -> None:
    """OBS-05: every span is reachable from the caller's."""
    trace_id, span_id = token_hex(16), token_hex(8)
    answer = await traced.ask("one", f"00-{trace_id}-{span_id}-01")
    assert answer.status is Status.COMPLETE
    spans = await traced.spans(PER_QUERY)
    assert {format_trace_id(context(span).trace_id) for span in spans} == {trace_id}
    assert edges(spans, span_id) == expected()
    assert linked(spans) == Counter({(PLANNED, RETRIEVE): TIMES[RETRIEVE]})


async def test_every_span_has_the_attributes_of_the_contract(traced: Traced) -> None:
    await traced.ask("attributes", None)
    for span in await traced.spans(PER_QUERY):
        spec, found = SPECS[span.name], set(span.attributes or {})
        assert set(spec.attributes) <= found <= {*spec.attributes, *spec.sometimes}, span.name


def linked(spans: Iterable[ReadableSpan]) -> Counter[tuple[str, str]]:
    """(span, span it is linked to) by name; each link says whose lane it is."""
    spans = list(spans)
    names = {context(span).span_id: span for span in spans}
    found: Counter[tuple[str, str]] = Counter()
    for span in spans:
        for link in span.links:
            other = names[link.context.span_id]
            found[span.name, other.name] += 1
            assert dict(link.attributes or {}).items() <= dict(other.attributes or {}).items()
    return found


async def test_fifty_queries_at_once_never_mix(traced: Traced, caplog: pytest.LogCaptureFixture) -> None:
    """OBS-05: no parent in another trace, no context detached in another task."""
    parents = {token_hex(16): token_hex(8) for _ in range(50)}
    with caplog.at_level(logging.WARNING):
        asked = (traced.ask(f"many-{trace}", f"00-{trace}-{span}-01") for trace, span in parents.items())
        answers = await asyncio.gather(*asked)
        spans = await traced.spans(50 * PER_QUERY, at_least=True)
    assert {answer.status for answer in answers} == {Status.COMPLETE}
    by_trace: dict[str, list[ReadableSpan]] = {}
    for span in spans:
        by_trace.setdefault(format_trace_id(context(span).trace_id), []).append(span)
    assert by_trace.keys() == parents.keys()
    for trace, found in by_trace.items():
        seen = edges(found, parents[trace])
        assert seen >= expected()
        assert seen.keys() == expected().keys()
    assert [record for record in caplog.records if record.name.startswith("opentelemetry")] == []


@pytest.mark.parametrize(
    "traceparent",
    [
        None,
        "",
        "garbage",
        "00-zz-yy-01",
        f"00-{'0' * 32}-{'0' * 16}-01",
        f"00-{'a' * 32}-01",
        f"ff-{'a' * 32}-{'b' * 16}-01",
    ],
)
async def test_a_missing_or_malformed_header_starts_a_new_trace(traced: Traced, traceparent: str | None) -> None:
    """OBS-05: never a failure."""
    answer = await traced.ask(f"root-{token_hex(4)}", traceparent)
    assert answer.status is Status.COMPLETE
    spans = await traced.spans(PER_QUERY)
    assert len({context(span).trace_id for span in spans}) == 1
    assert edges(spans, "") == expected("nothing")


async def test_the_client_hands_on_the_span_of_its_application(traced: Traced) -> None:
    tracer = TracerProvider().get_tracer("application")
    async with traced.flow.client(TENANT) as client:
        with tracer.start_as_current_span("request") as request:
            await client.ask(QUESTION, graph_seeds=SEEDS)
        own = request.get_span_context()
        spans = await traced.spans(PER_QUERY)
        assert edges(spans, format_span_id(own.span_id)) == expected()
        with tracer.start_as_current_span("request") as request:
            await client.decide(QUESTION)
        spans = await traced.spans(2)
    assert edges(spans, format_span_id(request.get_span_context().span_id)) == Counter(
        {(tracing.EDGES[name], name): 1 for name in (DECIDE, ROUTE_DECIDE)}
    )


async def test_no_span_holds_an_id_or_a_text(traced: Traced) -> None:
    """The tenant stands where it belongs, as an attribute of its own, and nowhere else."""
    await traced.ask("secret-id", None)
    for span in await traced.spans(PER_QUERY):
        attributes = dict(span.attributes or {})
        assert attributes.pop(tracing.TENANT_ID, None) == (TENANT if span.name == RETRIEVE_ROUTE else None)
        told = f"{span.name} {attributes} {span.events} {span.status.description}"
        for word in ("secret-id", TENANT, "tester", *QUESTION.split()[-2:]):
            assert word not in told


async def test_each_searched_corpus_has_a_span_from_its_plan_to_the_answer(traced: Traced) -> None:
    """One corpus is searched, the index of the other is gone: its span says that all of its lanes were lost."""
    card = (await traced.flow.operator.card(TENANT, "docs")).card
    assert card is not None
    await register(traced.flow, card.model_copy(update={"corpus": "lost", "generation": "g-gone"}))
    traced.exporter.clear()
    pinned = SubmittedQuery.model_validate_json(BODY).model_copy(update={"corpora": ("docs", "lost")})
    answer = await traced.ask("two-corpora", None, pinned.to_json())
    revision = (await traced.flow.operator.card(TENANT, "lost")).revision
    await traced.flow.operator.delete_card(TENANT, "lost", revision)
    assert (answer.status, len(answer.decisions)) == (Status.PARTIAL, 2)
    spans = await traced.spans(PER_QUERY + TIMES[RETRIEVE] + 1)
    by_name = {span.name: span for span in spans}
    routes = {(span.attributes or {})[tracing.CORPUS_ID]: span for span in spans if span.name == RETRIEVE_ROUTE}
    assert routes.keys() == {"docs", "lost"}
    for corpus, span in routes.items():
        attributes = dict(span.attributes or {})
        assert attributes.pop(tracing.CORPUS_ID) == corpus
        assert attributes.pop(tracing.TENANT_ID) == TENANT
        assert attributes.pop(tracing.ROUTE_ERROR, None) == ("not_found" if corpus == "lost" else None)
        stated = {tracing.TENANT_ID, tracing.CORPUS_ID}
        assert attributes.keys() == set(SPECS[RETRIEVE_ROUTE].attributes) - stated
        assert attributes["rag.route.results_n"] == sum(hit.corpus == corpus for hit in answer.hits)
        decision = next(one for one in answer.decisions if one.corpus == corpus)
        assert attributes["rag.route.weight_vector"] == decision.weights.vector
        assert attributes["rag.route.use_graph"] is decision.use_graph
        assert span.status.is_ok is (corpus == "docs")
        assert ends(span) >= ends(by_name[CHUNKS]), "told when the answer is out"
        begun, planned = begins(span), by_name[CORPUS_ROUTE]
        assert begins(planned) - CLOCK_ERROR_NS <= begun <= ends(planned) + CLOCK_ERROR_NS


async def test_a_redelivery_is_an_attribute_of_its_span(tmp_path_factory: pytest.TempPathFactory) -> None:
    """OBS-05: a message taken by a process that died is seen to be the second delivery."""
    folder = tmp_path_factory.mktemp("redelivered")
    with NatsServer(folder / "nats") as server:
        dying = await nats.connect(server.url)
        await ensure_topology(dying.jetstream())
        async with running_traced(server, InMemorySpanExporter(), folder / "data"):
            pass  # the corpus is indexed, nobody serves it
        consumer = streams.CLASSIFIER_CONSUMER
        await dying.publish(subjects.query_submitted(TENANT, "taken"), BODY)
        taken = await (await dying.jetstream().pull_subscribe_bind(consumer.durable, consumer.stream)).fetch(1)
        assert len(taken) == 1
        await dying.close()
        exporter = InMemorySpanExporter()
        async with running_traced(server, exporter, folder / "data") as traced:
            spans = {span.name: span for span in await traced.spans(PER_QUERY)}
    assert (spans[SUBMITTED].attributes or {})[DELIVERIES] == 2
    assert (spans[CLASSIFIED].attributes or {})[DELIVERIES] == 1
