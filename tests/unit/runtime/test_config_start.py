"""A process with a faulty configuration ends at once, with the lines of `fanfuse config check` and no secret."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FAULTY = {
    "unknown and repeated keys": "registry: {store: memory}\nretrieval: {routng: {}}\nretrieval: {}\n",
    "secrets": "registry: {store: memory, postgres_dsn: 'postgresql://u:hunter2@h/d'}\n",
    "cross-checks": "registry: {store: kv}\ncorpora: [{id: a, tenant_id: t, card: {fallbacks: [b], scopes: [s]}}]\n",
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_process_ends_with_what_check_says(tmp_path: Path, fault: str) -> None:
    (tmp_path / "fanfuse.yaml").write_text(FAULTY[fault])
    env = {name: value for name, value in os.environ.items() if not name.startswith("FANFUSE_")}
    env |= {"FANFUSE_CONFIG_FILE": str(tmp_path / "fanfuse.yaml"), "NATS_URL": "nats://127.0.0.1:1"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(arguments, env=env, capture_output=True, text=True, timeout=60, check=False)

    process = run(sys.executable, "-m", "fanfuse_corpus_router")
    checked = run(str(Path(sys.executable).with_name("fanfuse")), "config", "check")

    assert (process.returncode, checked.returncode) == (2, 2)
    assert process.stderr.splitlines() == [f"fanfuse: {line}" for line in checked.stdout.splitlines()]
    assert len(checked.stdout.splitlines()) == (1 if fault == "secrets" else 2)
    assert "hunter2" not in process.stderr + checked.stdout + checked.stderr
