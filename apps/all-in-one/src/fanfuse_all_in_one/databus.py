"""The bus that belongs to a data directory: found if one runs, else a nats-server child for the time of a block.

In: a data directory and, if given, the URL of a bus run by somebody else. Out: the URL. Two commands never run two
servers on one store: whoever holds `bus.lock` owns the server; `bus.json` tells the others where it listens.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from fanfuse_runtime.server import NatsServer, store_fault_since_start

_FILE: Final = "bus.json"
_LOCK: Final = "bus.lock"
_STORE: Final = ".nats"
"""No tenant can have this name, and each tenant has a folder beside it."""
_WAIT_S: Final = 600.0
_POLL_S: Final = 0.1
_ORPHAN_S: Final = 5.0
_TELL_AFTER_S: Final = 1.0


class BusUnavailableError(RuntimeError):
    """There is no bus to work with; the message says what to do."""


@dataclass(frozen=True, slots=True)
class BusFile:
    """Where the bus of a data directory listens. `pid`: its nats-server."""

    url: str
    pid: int


@dataclass(frozen=True, slots=True)
class DataBus:
    """A bus in use. `server` is set if it is a child of this process."""

    url: str
    server: NatsServer | None
    announced_in: Path | None = None
    """The data directory whose `bus.json` names the server; None: nobody was told of it."""

    def revive(self) -> bool:
        """Start the server again, on its port and store, if it has died; True if it had. Call it from the main thread.

        Raises `ServerStartError`.
        """
        if self.server is None or self.server.is_alive:
            return False
        self.server.kill()
        self.server.start()
        if self.announced_in is not None:
            _announce(self.announced_in, BusFile(self.url, self.server.pid))
        return True


def find_bus(data_dir: Path) -> BusFile | None:
    """The running bus that a data directory announces; None if there is none or the file is stale."""
    try:
        found = _read(data_dir)
    except (OSError, ValueError, TypeError):
        return None
    return found if _is_running(found.pid) and _listens(found.url) else None


def store_fault(data_dir: Path, url: str) -> str | None:
    """Why the bus at `url` stores nothing, where it is the one of this data directory; None: it does, or is another."""
    found = find_bus(data_dir)
    return None if found is None or found.url != url else store_fault_since_start(data_dir / _STORE)


def _read(data_dir: Path) -> BusFile:
    return BusFile(**json.loads((data_dir / _FILE).read_bytes()))


def _is_running(pid: int) -> bool:
    """True if this process is a nats-server: a number may be given to another process, and the dead may linger."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return b"nats-server" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # no /proc on this system
        return True


def _listens(url: str) -> bool:
    address = urlsplit(url)
    with closing(socket.socket()) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((address.hostname or "127.0.0.1", address.port or 4222)) == 0


@contextmanager
def data_bus(
    data_dir: Path, nats_url: str | None, *, announce: bool, port: int = 0, say: Callable[[str], None] = lambda _: None
) -> Iterator[DataBus]:
    """The bus of a data directory for the time of a block. Call it from the main thread.

    `announce`: a server started here is told to other commands (`fanfuse up`); without it they wait until the block is
    over (`fanfuse index` with nothing running). Raises `BusUnavailableError`.
    """
    if nats_url is not None:
        yield DataBus(nats_url, None)
        return
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / _LOCK).open("w") as lock:
        found = _find_or_lock(data_dir, lock, say)
        if found is not None:
            yield DataBus(found.url, None)
            return
        with NatsServer(data_dir / _STORE, port) as server:
            try:
                if announce:
                    _announce(data_dir, BusFile(server.url, server.pid))
                yield DataBus(server.url, server, data_dir if announce else None)
            finally:
                if announce:
                    (data_dir / _FILE).unlink(missing_ok=True)


def _find_or_lock(data_dir: Path, lock: IO[str], say: Callable[[str], None]) -> BusFile | None:
    """The bus that runs, or None as soon as the lock is ours."""
    started = time.monotonic()
    told = False
    while time.monotonic() - started < _WAIT_S:
        # The lock before the file: a file may still name the dying server of an owner that was killed.
        if _locked(lock):
            _await_end_of_orphan(data_dir)
            return None
        found = find_bus(data_dir)
        if found is not None:
            return found
        if not told and time.monotonic() - started > _TELL_AFTER_S:
            told = True
            say(f"waiting for another fanfuse command to finish with {data_dir}")
        time.sleep(_POLL_S)
    raise BusUnavailableError(f"another fanfuse command has held {data_dir} for {_WAIT_S:.0f} s: end it, or use --data")


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _await_end_of_orphan(data_dir: Path) -> None:
    # A server whose owner was killed is told to stop by the kernel; its store must be free before it is opened again.
    try:
        orphan = _read(data_dir).pid
    except (OSError, ValueError, TypeError):
        return
    deadline = time.monotonic() + _ORPHAN_S
    while _is_running(orphan) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _announce(data_dir: Path, bus: BusFile) -> None:
    partial = data_dir / f"{_FILE}.{os.getpid()}"
    partial.write_text(json.dumps(asdict(bus)) + "\n", encoding="utf-8")
    partial.replace(data_dir / _FILE)
