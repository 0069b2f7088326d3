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
    """Prints a measured figure whether output is captured or not."""
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")

    def write(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"  {line}")

    return write
