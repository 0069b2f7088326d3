"""Fixtures of the flow's tests: what every module needs beside a running flow."""

import os
from collections.abc import Callable

import pytest

from fanfuse_testing.flow import flow
from fanfuse_testing.nats import _session_server, nats_server, own_nats_server
from fanfuse_testing.processes import processes

__all__ = ["_session_server", "flow", "nats_server", "own_nats_server", "processes"]

# The tests state every setting: what the shell says must not change what they prove.
for name in [name for name in os.environ if name.startswith("FANFUSE_") and name != "FANFUSE_SHARED"]:
    del os.environ[name]


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Prints a measured figure although output is captured."""
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")

    def write(line: str) -> None:
        if capture is None or reporter is None:
            return  # a worker of a distributed run has no terminal
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(f"  {line}")

    return write
