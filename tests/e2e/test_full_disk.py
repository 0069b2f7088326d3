"""`fanfuse index` where nothing more can be written: one plain line, and what was there stays."""

import resource
import subprocess

import pytest

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
