"""A ready process sets its objects aside, and gives the interpreter back as it was."""

import gc
import weakref

import pytest

from fanfuse_runtime.collector import YOUNG_OBJECTS, SettledCollector


class Node:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collector():
    collector = SettledCollector()
    yield collector
    collector.release()


def test_what_was_there_is_set_aside_until_released(collector):
    before = gc.get_threshold()

    collector.settle()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == (YOUNG_OBJECTS, *before[1:])

    collector.release()
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == before


def test_new_cycles_are_still_found(collector):
    collector.settle()
    gone = weakref.ref(Node())
    kept: list[list[int]] = [[] for _ in range(2 * YOUNG_OBJECTS)]

    assert len(kept) == 2 * YOUNG_OBJECTS
    assert gone() is None


def test_release_without_settle_changes_nothing(collector):
    before = gc.get_threshold()
    collector.release()
    assert gc.get_threshold() == before
