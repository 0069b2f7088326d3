"""The classifier as the running service."""

import pytest

from fanfuse_classifier.service import build


@pytest.fixture
def service():
    return build
