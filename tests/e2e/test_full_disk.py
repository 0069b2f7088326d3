"""`fanfuse index` where nothing more can be written: one plain line, and what was there stays."""

import asyncio
import json
import resource
import subprocess

import nats
import pytest
from nats.errors import TimeoutError as NatsTimeoutError

from fanfuse_contracts import subjects
from tests.e2e.conftest import FANFUSE

INDEX = ("--tenant", "acme", "--corpus", "docs", "--public")


@pytest.mark.parametrize("largest_kb", [8, 40])
def test_a_full_disk_is_one_plain_line(running, acme_docs, largest_kb):
    """A limit on the size of a file fails writes as a full disk does: of the embedding cache, then of the texts."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_kb * 1024, largest_kb * 1024))

    done = subprocess.run(
        [str(FANFUSE), "index", str(acme_docs), *INDEX],
        env=running.environment, capture_output=True, text=True, timeout=180, check=False, preexec_fn=limit,
    )  # fmt: skip

    *_, line = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("fanfuse: the index was not written, and what was there stays: ")
    assert f"Is the disk of {running.data} full?" in line
    assert "Traceback" not in done.stderr
    running.must("index", str(acme_docs), *INDEX)


async def test_up_tells_that_its_bus_stores_nothing(installation):
    """A stream refuses everything from its first failed write on, also when there is room again."""
    up = installation.up()
    bus = json.loads((installation.data / "bus.json").read_text())
    room = (installation.data / ".nats" / "nats-server.log").stat().st_size + 20_000
    resource.prlimit(bus["pid"], resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    client = await nats.connect(bus["url"])
    with pytest.raises(NatsTimeoutError):
        await client.jetstream().publish(subjects.query_submitted("acme", "q1"), b"x" * 2 * room, timeout=2)
    await client.close()

    assert up.stdout is not None
    line = await asyncio.wait_for(asyncio.to_thread(up.stdout.readline), 60)
    assert line.startswith("bus       failed to store a msg on stream ")
    assert line.rstrip().endswith("Is the disk full? Make room, then end this command and start it again")
    looked = await asyncio.to_thread(installation.fanfuse, "status", "--json")
    assert looked.returncode == 1
    (fault,) = json.loads(looked.stdout)["faults"]
    assert fault.startswith("the bus stores nothing: failed to store a msg on stream ")
    up.terminate()
    up.wait(timeout=60)
    installation.up()
    assert json.loads(installation.must("status", "--json"))["faults"] == [], "its log still tells of the one before"
