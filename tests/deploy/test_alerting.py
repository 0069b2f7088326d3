"""Alerts reach people: by severity, each once, with the runbook. On a real Alertmanager, fed by a real Prometheus."""

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fanfuse_contracts import metrics
from fanfuse_runtime.metrics import Metrics
from tests.deploy.shipped import ROOT, cluster_rules, rules
from tests.servers.alertmanager import SEVERITIES, SHIPPED, Alertmanager
from tests.servers.child import started_or_skipped
from tests.servers.prometheus import Prometheus, tool

CONFIG = SHIPPED / "alertmanager.yml"
WITHIN_S = 150.0


@pytest.fixture(scope="module")
def amtool() -> str:
    return tool("amtool")


@pytest.fixture
def alertmanager() -> Iterator[Alertmanager]:
    server = started_or_skipped(Alertmanager())
    yield server
    server.close()


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def soon(found: Callable[[], Any]) -> Any:
    """The first true value; the test fails without one."""
    deadline = time.monotonic() + WITHIN_S
    while not (value := found()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.2)
    return value


def test_amtool_finds_no_fault_in_the_configuration_and_its_templates(amtool: str, tmp_path: Path) -> None:
    here = tmp_path / "alertmanager.yml"
    here.write_text(CONFIG.read_text(encoding="utf-8").replace("/etc/alertmanager/templates", str(tmp_path)))
    shutil.copy(SHIPPED / "templates" / "fanfuse.tmpl", tmp_path)
    assert run(amtool, "check-config", here).count("SUCCESS") == 2
    (tmp_path / "fanfuse.tmpl").write_text("{{ define }}")
    with pytest.raises(AssertionError, match="FAILED"):
        run(amtool, "check-config", here)


def test_every_alert_goes_to_the_receiver_of_its_severity(amtool: str) -> None:
    """No alert is caught by a route for another, nor left to the default by chance."""
    alerts = [rule for rule in (*rules(), *cluster_rules()) if rule.alert]
    assert {rule.labels["severity"] for rule in alerts} == set(SEVERITIES)
    for rule in alerts:
        stated = [f"{label}={value}" for label, value in rule.labels.items()]
        told = run(amtool, "config", "routes", "test", f"--config.file={CONFIG}", f"alertname={rule.name}", *stated)
        assert told.strip() == rule.labels["severity"], rule.name


def test_what_follows_from_a_worse_alert_is_not_told(alertmanager: Alertmanager) -> None:
    """Of the same process, of the same backend; never of another one, and never what has no such label."""
    one, other = {"instance": "10.0.0.1:8000"}, {"instance": "10.0.0.2:8000"}
    main, eu = {"kind": "vector", "backend": "main"}, {"kind": "vector", "backend": "eu"}
    told: list[dict[str, str]] = [
        {"alertname": "FanfuseBusDisconnected", "severity": "page", **one},
        {"alertname": "FanfuseNotReady", "severity": "ticket", **one},
        {"alertname": "FanfuseNotReady", "severity": "ticket", **other},
        {"alertname": "FanfuseBackendDegraded", "severity": "ticket", **main},
        {"alertname": "FanfuseBackendFlapping", "severity": "ticket", **main},
        {"alertname": "FanfuseBackendFlapping", "severity": "ticket", **eu},
        {"alertname": "FanfuseAnswersWithoutResult", "severity": "page"},
        {"alertname": "FanfuseOverloaded", "severity": "ticket"},
    ]
    alertmanager.tell(told)
    silenced = soon(lambda: [each["labels"] for each in alertmanager.alerts() if each["status"]["inhibitedBy"]])
    assert len(alertmanager.alerts()) == len(told)
    assert sorted(silenced, key=lambda labels: labels["alertname"]) == [told[4], told[1]]


@pytest.fixture
def process() -> Iterator[tuple[Metrics, str]]:
    """The metrics of a process that has no connection to the bus, and where Prometheus finds them."""
    own = Metrics()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = own.exposition()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield own, f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.nightly
def test_a_firing_alert_reaches_people_with_the_link_to_its_runbook(
    alertmanager: Alertmanager, process: tuple[Metrics, str]
) -> None:
    """OBS-02: from the metric through the shipped rule, its duration and the routes to what is posted; and its end."""
    own, target = process
    prometheus = started_or_skipped(Prometheus([target], [alertmanager.address]))
    received = alertmanager.notifications.received
    try:
        soon(lambda: prometheus.query("fanfuse_deadletters_total"))
        own.inc(metrics.DEADLETTERS_TOTAL, stage="fuser")
        page = only(soon(lambda: received["page"]))
        assert page["title"] == "[page] FanfuseBusDisconnected"
        assert f"{target} has no connection to NATS" in page["text"]
        own.set(metrics.BUS_CONNECTED, 1)
        ticket = only(soon(lambda: received["ticket"]))
        assert ticket["title"] == "[ticket] FanfuseDeadLetters"
        assert "messages of fuser were given up" in ticket["text"]
        for attachment in (page, ticket):
            assert leads_to_a_runbook(attachment)
        over = soon(lambda: received["page"][1:])[-1]["attachments"][0]
        assert over["title"] == "[page, resolved] FanfuseBusDisconnected"
        assert f"over: {target}" in over["text"]
    finally:
        prometheus.close()


def only(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What the one message says."""
    (message,) = messages
    (attachment,) = message["attachments"]
    found: dict[str, Any] = attachment
    return found


def leads_to_a_runbook(attachment: dict[str, Any]) -> bool:
    """Its link and its text name the same page, which is in the repository."""
    page = attachment["title_link"].partition("/docs/")[2]
    return (ROOT / "docs" / page).is_file() and attachment["title_link"] in attachment["text"]
