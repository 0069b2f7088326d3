"""Secrets are planted wherever a deployment has them, and looked for in everything that is told.

Real processes with a collector of their own: URLs, headers, environment and configuration hold secrets; logs, metrics,
spans, answers, dead letters, health and the printed configuration must not. The spans prove the export as well.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
import pytest_asyncio
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from fanfuse_contracts import headers, streams, subjects, tracing
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port
from fanfuse_testing.processes import Processes
from tests.flow.airships import FIELDS, QUESTION, library

pytestmark = [pytest.mark.nightly, pytest.mark.asyncio(loop_scope="module")]

TENANT = "acme"
QUERIES = ("planted", "forged", "garbage")
BUS, COLLECTOR, VECTORS, WORDS, CALLER = (f"{name}-{token_hex(8)}" for name in ("bus", "otlp", "vec", "words", "call"))
JWT = f"eyJhbGciOiJFZERTQSJ9.{token_hex(12)}.{token_hex(12)}"
PLANTED = {"bus": BUS, "collector": COLLECTOR, "vectors": VECTORS, "words": WORDS, "caller": CALLER, "jwt": JWT}


@dataclass(slots=True)
class Collector:
    """Takes what OpenTelemetry exports."""

    bodies: list[bytes] = field(default_factory=list)
    authorizations: set[str | None] = field(default_factory=set)

    def start(self, port: int = 0) -> ThreadingHTTPServer:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.authorizations.add(self.headers.get("authorization"))
                collector.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def spans(self) -> Iterator[tuple[str, str, str]]:
        """Service, span name and trace id of everything exported."""
        for body in list(self.bodies):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                named = {each.key: each.value.string_value for each in resource.resource.attributes}
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        yield named["service.name"], span.name, span.trace_id.hex()


@dataclass(frozen=True, slots=True)
class Planted:
    processes: Processes
    collector: Collector
    server: ThreadingHTTPServer
    config: Path
    environment: dict[str, str]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def planted(processes: Processes) -> AsyncIterator[Planted]:
    collector = Collector()
    server = collector.start()
    config = processes.folder / "fanfuse.yaml"
    dead = free_port()
    config.write_text(
        f"backends:\n  vector:\n    main: {{engine: qdrant, url: 'http://127.0.0.1:{dead}', api_key: {VECTORS}}}\n"
    )
    environment = {
        "NATS_URL": processes.url.replace("nats://", f"nats://user:{BUS}@"),
        "FANFUSE_CONFIG_FILE": str(config),
        "FANFUSE_LOG_LEVEL": "debug",
        "FANFUSE__BACKENDS__GRAPH": json.dumps(
            {"main": {"engine": "neo4j", "url": f"bolt://127.0.0.1:{dead}", "username": "u", "password": WORDS}}
        ),
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}",
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{COLLECTOR}",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    await processes.index(TENANT, "docs", library(), FIELDS)
    for stage in Stage:
        processes.launch(stage, stage.value, environment | {"OTEL_SERVICE_NAME": f"fanfuse-{stage.value}"})
        await processes.ready(stage.value)
    await ask(processes)
    yield Planted(processes, collector, server, config, environment)


async def ask(processes: Processes) -> None:
    """A query that meets dead engines, and a message that is none; both with credentials in their headers."""
    nc = processes.operator.bus.nc
    carried = {"Authorization": f"Bearer {CALLER}", headers.TRACEPARENT: TRACEPARENT}
    forged = {headers.PRINCIPAL: JWT}
    body = SubmittedQuery(text=QUESTION, principal=Principal(id="tester"), budget_ms=25_000).to_json()
    await nc.publish(subjects.query_submitted(TENANT, "planted"), body, headers=carried)
    await nc.publish(subjects.query_submitted(TENANT, "forged"), body, headers=forged)
    await nc.publish(subjects.query_submitted(TENANT, "garbage"), b"{not json", headers=carried | forged)
    async with processes.client(TENANT) as client:
        for query_id in QUERIES:
            await eventually(partial(client.stored, query_id), within_s=60.0)


TRACE_ID = token_hex(16)
TRACEPARENT = f"00-{TRACE_ID}-{token_hex(8)}-01"


def assert_silent(where: str, told: str) -> None:
    assert told, f"{where} tells nothing"
    for name, secret in PLANTED.items():
        assert secret not in told, f"{where} tells the secret of {name}"


async def test_logs_are_json_and_hold_no_secret(planted: Planted) -> None:
    for name, process in planted.processes.started.items():
        text = process.log.read_text()
        assert_silent(f"the log of {name}", text)
        for line in text.splitlines():
            assert {"event", "level", "timestamp"} <= json.loads(line).keys(), line


async def test_metrics_and_health_hold_no_secret(planted: Planted) -> None:
    for name, process in planted.processes.started.items():
        for path in ("/metrics", "/readyz", "/healthz"):
            assert_silent(f"{path} of {name}", (await process.get(path))[1])
    assert await planted.processes.metric("backend-workers", "fanfuse_lane_failures_total") > 0


async def test_answers_and_dead_letters_hold_no_secret(planted: Planted) -> None:
    bus = planted.processes.operator.bus
    for query_id in QUERIES:
        stored = await bus.last(streams.ANSWERS.name, subjects.query_fused(TENANT, query_id))
        assert stored is not None
        assert_silent(f"the answer of {query_id}", stored.data.decode())
    letter = await bus.last(streams.DEADLETTER.name, subjects.deadletter(Stage.CLASSIFIER, TENANT))
    assert letter is not None
    assert_silent("a dead letter", letter.data.decode())
    assert json.loads(letter.data)["headers"]["Authorization"] == "***"


async def test_the_printed_configuration_holds_no_secret(planted: Planted) -> None:
    command = [str(Path(sys.executable).with_name("fanfuse")), "config", "show", "-f", str(planted.config), "--origin"]
    done = await asyncio.to_thread(
        subprocess.run, command, env=os.environ | planted.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert_silent("config show", done.stdout + done.stderr)
    assert "***" in done.stdout


async def test_spans_of_all_processes_are_exported_and_hold_no_secret(planted: Planted) -> None:
    """By the ordinary variables: endpoint, headers and service name are OpenTelemetry's own."""
    wanted = {span for span in tracing.EDGES if span not in {tracing.DECIDE, tracing.ROUTE_DECIDE}}

    def exported() -> dict[str, str]:
        return {name: service for service, name, trace_id in planted.collector.spans() if trace_id == TRACE_ID}

    with suppress(TimeoutError):
        await eventually(lambda: exported().keys() >= wanted, within_s=30.0)
    found = exported()
    assert found.keys() >= wanted
    assert found[tracing.PLANNED] == "fanfuse-fuser"
    assert found[tracing.RETRIEVE] == "fanfuse-backend-workers"
    assert planted.collector.authorizations == {f"Bearer {COLLECTOR}"}
    told = b"".join(planted.collector.bodies)
    for name, secret in PLANTED.items():
        assert secret.encode() not in told, f"a span tells the secret of {name}"


async def test_a_collector_that_is_gone_neither_stops_nor_tells_anything(planted: Planted) -> None:
    """The process goes on, ends in time with exit code 0, and the exporter's complaints hold no secret."""
    planted.server.shutdown()
    planted.server.server_close()
    async with planted.processes.client(TENANT) as client:
        assert (await client.ask(QUESTION, budget_ms=10_000)).coverage.expected > 0
    fuser = planted.processes.started["fuser"]
    await asyncio.sleep(1.0)
    assert await fuser.stop() == 0
    log = fuser.log.read_text()
    assert "opentelemetry" in log
    assert_silent("the log of the fuser", log)
    Collector().start(planted.server.server_address[1])
    await planted.processes.restart("fuser")
