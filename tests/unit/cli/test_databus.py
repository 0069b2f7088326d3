"""The bus of a data directory: one server per store, found by others, never a stale file believed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fanfuse_all_in_one.databus import data_bus, find_bus

HOLD = (
    "import sys, time; from pathlib import Path; from fanfuse_all_in_one.databus import data_bus\n"
    "with data_bus(Path(sys.argv[1]), None, announce=sys.argv[2] == 'yes'):\n"
    "    print('held', flush=True); time.sleep(float(sys.argv[3]))\n"
)


def hold(data, announce: str, seconds: float) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data), announce, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_an_announced_bus_is_found_and_forgotten(tmp_path):
    with data_bus(tmp_path, None, announce=True) as bus:
        found = find_bus(tmp_path)
        assert found is not None
        assert bus.server is not None
        assert (found.url, found.pid) == (bus.url, bus.server.pid)
    assert find_bus(tmp_path) is None
    assert not (tmp_path / "bus.json").exists()


def test_a_second_command_joins_an_announced_bus(tmp_path):
    child = hold(tmp_path, "yes", 30)
    with data_bus(tmp_path, None, announce=False) as bus:
        assert bus.server is None
        assert bus.url == json.loads((tmp_path / "bus.json").read_text())["url"]
    child.terminate()
    child.communicate()


def test_a_second_command_waits_for_one_that_announces_nothing(tmp_path):
    child = hold(tmp_path, "no", 1.5)
    said: list[str] = []
    started = time.monotonic()
    with data_bus(tmp_path, None, announce=False, say=said.append) as bus:
        assert bus.server is not None
    child.communicate()

    assert time.monotonic() - started > 1.0
    assert len(said) == 1
    assert "waiting for another fanfuse command" in said[0]


@pytest.mark.parametrize("content", ["", "{", '{"url": 1}', "[]", '{"url": "nats://127.0.0.1:1", "pid": 1}'])
def test_a_damaged_or_stale_file_is_not_believed(tmp_path, content):
    (tmp_path / "bus.json").write_text(content)

    assert find_bus(tmp_path) is None
    with data_bus(tmp_path, None, announce=True) as bus:
        assert bus.server is not None


def test_a_file_of_a_dead_process_is_not_believed(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / "bus.json").write_text(json.dumps({"url": "nats://127.0.0.1:1", "pid": dead.pid}))

    assert find_bus(tmp_path) is None


def test_after_kill_9_of_the_owner_the_next_command_starts_anew_on_the_same_store(tmp_path):
    child = hold(tmp_path, "yes", 60)
    server = json.loads((tmp_path / "bus.json").read_text())["pid"]
    child.kill()
    child.communicate()
    with data_bus(tmp_path, None, announce=True) as bus:
        assert bus.server is not None
        assert bus.server.pid != server
    stat = Path(f"/proc/{server}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_stated_url_starts_nothing(tmp_path):
    with data_bus(tmp_path / "none", "nats://elsewhere:4222", announce=True) as bus:
        assert (bus.url, bus.server) == ("nats://elsewhere:4222", None)
    assert not (tmp_path / "none").exists()
