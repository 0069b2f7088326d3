"""`fanfuse` as a person types it, on one data directory for a module: as a process, or in this one."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fanfuse_cli.main import app
from fanfuse_testing.flow import logs_of_a_process

FANFUSE = Path(sys.executable).with_name("fanfuse")
START_S = 90.0

ACME_DOCS = {
    "leave.md": "# Annual leave\n\nEmployees of Acme Corp take twenty-five days of paid holiday each year.\n",
    "travel.md": "# Travel\n\nReceipts for train tickets are handed in with form TRAVEL-2026-01.\n",
    "coffee.txt": "The espresso machine on the second floor is cleaned every Friday afternoon.\n",
}


class Installation:
    """One data directory and the commands on it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.environment = os.environ | {"FANFUSE_DATA_DIR": str(data), "NATS_URL": "", "COLUMNS": "140"}
        self.running: list[subprocess.Popen[str]] = []
        data.parent.mkdir(parents=True, exist_ok=True)
        self.log = (data.parent / "up.log").open("a")

    def fanfuse(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        command = [str(FANFUSE), *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=180, check=False)

    def must(self, *arguments: str) -> str:
        """Run one command that must succeed; its standard output."""
        done = self.fanfuse(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end in this process: a second less for what is not about being a process."""
        with logs_of_a_process():
            done = CliRunner(env=self.environment).invoke(app, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    def must_call(self, *arguments: str) -> str:
        """Run one command that must succeed in this process; its standard output."""
        done = self.call(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command that goes on until it is ended; its standard output is a pipe."""
        process = subprocess.Popen(
            [str(FANFUSE), *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.running.append(process)
        return process

    def up(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `fanfuse up` and wait until it says that it is ready."""
        process = subprocess.Popen(
            [str(FANFUSE), "up", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )
        self.running.append(process)
        assert process.stdout is not None
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            line = process.stdout.readline()
            if line.startswith("ready"):
                return process
            assert line, f"up ended: {(self.data.parent / 'up.log').read_text()}"
        raise AssertionError("up did not become ready")

    def stop(self) -> None:
        """End everything that was started here."""
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
        self.running.clear()
        self.log.close()

    def left_behind(self) -> list[str]:
        """Command lines of processes that still have to do with this data directory."""
        lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
        return [line for line in lines if re.search(rf"{re.escape(str(self.data))}(/|\s|$)", line)]


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """An empty data directory; whatever runs on it ends with the test."""
    made = Installation(tmp_path / "data")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Everything up, for the tests of a module."""
    made = Installation(tmp_path_factory.mktemp("e2e") / "data")
    made.up()
    yield made
    made.stop()
    assert made.left_behind() == []


@pytest.fixture(scope="session")
def acme_docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small folder of documents."""
    folder = tmp_path_factory.mktemp("source") / "acme"
    folder.mkdir()
    for name, text in ACME_DOCS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
