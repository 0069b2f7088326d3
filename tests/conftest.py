"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = [f"fanfuse_testing.{name}" for name in ("nats", "flow", "processes", "figures")]

# Time is measured by benchmarks; a busy machine must not fail a property.
settings.register_profile("fanfuse", deadline=None)
settings.load_profile("fanfuse")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of evaluation data: $FANFUSE_SHARED, else the sibling ../shared; the test is skipped without it."""
    folder = Path(os.environ.get("FANFUSE_SHARED") or ROOT / "../shared").resolve()
    if not folder.is_dir():
        pytest.skip("set FANFUSE_SHARED to the folder of evaluation data")
    return folder
