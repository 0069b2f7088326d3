"""A real Prometheus, Alertmanager and their tools: those on the PATH, else those of the distribution, unpacked once.

Out: paths, and a Prometheus that scrapes what it is told to. Kept under ~/.cache, outside the repository; nothing is
installed. A machine without them and without Debian's package tools gets `MissingServerError`, which says so.
"""

import fcntl
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Self

import pytest

from fanfuse_testing.ports import free_port
from tests.servers.child import ChildServer
from tests.servers.maven import CACHE, MissingServerError

_FETCH_WITHIN_S: Final = 180
_READY_WITHIN_S: Final = 60.0
_DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
_PACKAGES: Final = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
}
"""Package of the distribution by program."""


@cache
def binary(name: str) -> Path:
    """Path of a program that `_PACKAGES` names."""
    installed = shutil.which(name)
    if installed is not None:
        return Path(installed)
    package = _PACKAGES[name]
    folder = CACHE / package
    folder.mkdir(parents=True, exist_ok=True)
    unpacked = folder / "usr" / "bin" / name
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not unpacked.is_file():
            _fetch(package, folder)
    return unpacked


def tool(name: str) -> str:
    """The same for a test, which is skipped with the reason where the program is not to be had."""
    try:
        return str(binary(name))
    except MissingServerError as error:
        pytest.skip(str(error))


def _fetch(package: str, folder: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MissingServerError(f"no real {package} here: neither on the PATH, nor is there apt-get to fetch it")
    if not _ran(["apt-get", "download", "-q", package], folder):
        _ran(["apt-get", "update", "-q"], folder)  # a fresh machine has no list of packages yet
        _ran(["apt-get", "download", "-q", package], folder)
    packages = sorted(folder.glob(f"{package}_*.deb"))
    if not packages or not _ran(["dpkg-deb", "-x", str(packages[-1]), str(folder)], folder):
        raise MissingServerError(f"no real {package} here: apt-get could not fetch the package `{package}`")
    for unpacked in packages:
        unpacked.unlink()


def _ran(command: list[str], folder: Path) -> bool:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=_FETCH_WITHIN_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class Prometheus(ChildServer):
    """The server, with the shipped rules; scrapes and evaluates once a second, so that a scenario takes little time."""

    def __init__(self, targets: Iterable[str], alertmanagers: Iterable[str] = ()) -> None:
        super().__init__("prometheus")
        self._targets = tuple(targets)
        self._alertmanagers = tuple(alertmanagers)
        self._port = free_port()

    def start(self) -> Self:
        """Start it; it has scraped when this returns."""
        self.launch()
        self.wait_ready()
        return self

    def launch(self) -> None:
        """Start it without waiting, in the thread that outlives it."""
        program = binary("prometheus")
        (self.folder / "config.json").write_text(json.dumps(self._config()))
        command = [
            str(program),
            f"--config.file={self.folder / 'config.json'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--enable-feature=exemplar-storage",
        ]
        self.run(command)

    def wait_ready(self) -> None:
        """Wait until it has scraped; raises `RuntimeError` where it does not come up."""
        deadline = time.monotonic() + _READY_WITHIN_S
        while not self._is_ready():
            if time.monotonic() > deadline or self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"Prometheus did not start: {self.said()}")
            time.sleep(0.1)

    def _config(self) -> dict[str, Any]:
        return {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(_DEPLOY / "rules" / "*.yaml")],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": list(self._alertmanagers)}]}]},
            "scrape_configs": [{"job_name": "fanfuse", "static_configs": [{"targets": list(self._targets)}]}],
        }

    def _is_ready(self) -> bool:
        try:
            return bool(self.query("up"))
        except OSError:
            return False

    def query(self, expr: str) -> list[dict[str, Any]]:
        """Series of an expression now; raises `ValueError` with what Prometheus says of a bad one."""
        found: list[dict[str, Any]] = self._get("query", query=expr)["result"]
        return found

    def query_range(self, expr: str, start: float, end: float, step_s: float) -> list[dict[str, Any]]:
        """Series of an expression over time (seconds since the epoch)."""
        found: list[dict[str, Any]] = self._get("query_range", query=expr, start=start, end=end, step=step_s)["result"]
        return found

    def exemplars(self, expr: str, start: float, end: float) -> list[dict[str, Any]]:
        """Exemplars of the series in an expression."""
        found: list[dict[str, Any]] = self._get("query_exemplars", query=expr, start=start, end=end)
        return found

    def label_values(self, label: str, series: str) -> list[str]:
        """Values of a label among some series."""
        found: list[str] = self._get(f"label/{label}/values", **{"match[]": series})
        return found

    def _get(self, path: str, **parameters: object) -> Any:
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{query}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            raise ValueError(f"{parameters}: {error.read().decode()}") from error
