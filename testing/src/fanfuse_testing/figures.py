"""Measured figures, told at the end of a run: in one process, and by the workers of a distributed one.

Use it with `pytest_plugins = ["fanfuse_testing.figures"]`. In: `say("a line")` in a test. Out: a section of the
summary.
"""

from collections.abc import Callable
from typing import Final

import pytest

_PROPERTY: Final = "figure"


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Tells a figure of this test, whether it passes or not."""

    def write(line: str) -> None:
        request.node.user_properties.append((_PROPERTY, line))

    return write


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures of all tests."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    properties = [
        pair
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
        for pair in report.user_properties
    ]
    lines = [line for name, line in properties if name == _PROPERTY]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(str(line))
