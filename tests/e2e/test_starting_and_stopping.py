"""`fanfuse up`: all in one process, or in several that join one bus; commands with nothing running; clean ends."""

import json
import os
import signal
import socket
import urllib.request

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage, Status
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port


def test_index_with_nothing_running_then_up_finds_it(installation, acme_docs):
    installation.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--public")
    assert "docs" in installation.must("corpus", "list")
    assert installation.left_behind() == []
    assert installation.fanfuse("ask", "holiday", "--tenant", "acme").returncode == 2

    up = installation.up("--ops-port", "0")
    answer = Answer.from_json(installation.must("ask", "holiday", "--tenant", "acme", "--json").encode())
    assert answer.status is Status.COMPLETE
    assert len(answer.hits) == 3

    up.send_signal(signal.SIGINT)
    told, _ = up.communicate(timeout=30)
    assert up.returncode == 0
    assert told.splitlines()[-1] == "stopping  SIGINT"
    assert installation.left_behind() == []
    assert not (installation.data / "bus.json").exists()


def test_services_in_several_processes_join_one_bus(installation, acme_docs):
    installation.up("--only", "classifier,corpus-router,fuser")
    installation.up("--only", "backend-workers,health")
    installation.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--public")
    answer = Answer.from_json(installation.must("ask", "holiday", "--tenant", "acme", "--json").encode())

    assert answer.status is Status.COMPLETE
    beats = json.loads(installation.must("status", "--json"))["instances"]
    assert {beat["service"] for beat in beats} == {stage.value for stage in Stage}
    assert len({beat["instance"] for beat in beats}) == 2


def test_a_service_runs_once_per_data_directory(installation):
    first = installation.up("--only", "classifier,health")
    refused = installation.fanfuse("up", "--only", "health,fuser")
    assert refused.returncode == 2
    assert f"another fanfuse up runs health on {installation.data}" in refused.stderr

    other = installation.up("--only", "fuser")
    first.kill()
    # Neither a lock nor a process outlives the one that ran the bus.
    assert other.wait(timeout=120) == 2
    assert "is gone: whoever started it has ended" in (installation.data.parent / "up.log").read_text()
    installation.up("--only", "health,fuser")


def test_operators_endpoints_answer(installation):
    port = free_port()
    installation.up("--ops-port", str(port))
    for path in ("healthz", "readyz"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
            assert json.load(answer) == {"status": "ok"}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        assert b'fanfuse_queries_total{status="complete",tenant_class="other"} 0.0' in answer.read()


def test_a_taken_port_is_one_plain_line(installation):
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = installation.fanfuse("up", "--ops-port", str(port))

    assert done.returncode == 2
    assert str(port) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_configuration_names_file_and_key(installation, tmp_path):
    config = tmp_path / "fanfuse.yaml"
    config.write_text("retrieval:\n  routing:\n    max_corpra: 3\n")
    done = installation.fanfuse("up", "--file", str(config))

    assert done.returncode == 2
    assert "max_corpra" in done.stderr
    assert "max_corpora" in done.stderr
    assert installation.left_behind() == []


async def test_a_bus_that_dies_is_started_again_and_answers_again(installation, acme_docs):
    up = installation.up()
    installation.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--public")
    bus = json.loads((installation.data / "bus.json").read_text())
    os.kill(bus["pid"], signal.SIGKILL)

    await eventually(lambda: json.loads((installation.data / "bus.json").read_text())["pid"] != bus["pid"], 60)
    await eventually(lambda: installation.fanfuse("ask", "holiday", "--tenant", "acme").returncode == 0, 60)
    assert up.poll() is None
    assert json.loads((installation.data / "bus.json").read_text())["url"] == bus["url"]
