"""Fixtures that every test may use."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import structlog
from hypothesis import HealthCheck, settings

pytest_plugins = [f"fanfuse_testing.{name}" for name in ("nats", "postgres", "flow", "processes", "figures")]

# Time is measured by benchmarks; a busy machine must not fail a property.
settings.register_profile("fanfuse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fanfuse")

# A process configures its own logs. Those of services under test show a traceback without every local variable, which
# costs seconds for a large one.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def bench_module(repository: Path) -> Callable[[str], ModuleType]:
    """Imports a module of the benchmark by name, which is no installed package."""

    def load(name: str) -> ModuleType:
        sys.path.insert(0, str(repository / "bench"))
        try:
            return import_module(f"fanfuse_bench.{name}")
        finally:
            sys.path.pop(0)

    return load


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of evaluation data: $FANFUSE_SHARED, else the sibling ../shared; the test is skipped without it."""
    folder = Path(os.environ.get("FANFUSE_SHARED") or ROOT / "../shared").resolve()
    if not folder.is_dir():
        pytest.skip("set FANFUSE_SHARED to the folder of evaluation data")
    return folder


class UnsettledCollector:
    """Stands in for `fanfuse_runtime.collector`, which has tests of its own."""

    def settle(self) -> None:
        """Walk nothing: all tests share this interpreter, and a third of a second for each process adds up."""

    def release(self) -> None:
        """Nothing was changed."""


@pytest.fixture(scope="session", autouse=True)
def _walk_the_tests_once() -> Iterator[None]:
    """Objects of the collected tests are set aside here, once, not by every process that a test starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fanfuse_runtime.compose.SettledCollector", UnsettledCollector)
        gc.collect()
        gc.freeze()
        yield


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """A command that a test calls sets up the logs of its process: those of the tests are put back."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture(autouse=True)
def _never_hang() -> Iterator[None]:
    """A test that hangs fails after four minutes instead of holding the whole run."""

    def stop(_number: int, _frame: object) -> None:
        raise TimeoutError("the test hung for four minutes")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 240)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
