"""The overlays as the README renders them, once for all tests of this folder that look at them."""

from pathlib import Path

import pytest

from tests.deploy.rendered import OVERLAYS, Objects, objects, prepare


@pytest.fixture(scope="session")
def overlays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Objects]:
    """The objects of each overlay; who changes them takes a copy."""
    root: Path = prepare(tmp_path_factory.mktemp("deploy"))
    return {overlay: objects(root, overlay) for overlay in OVERLAYS}
