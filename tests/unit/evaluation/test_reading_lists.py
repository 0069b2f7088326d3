"""A broker that does not give the lists at once is asked again, a few times."""

from typing import Any

import pytest

from fanfuse_evaluation import asking
from fanfuse_runtime.errors import PublishRefusedError


class BusyBus:
    """Refuses so many reads."""

    def __init__(self, refusals: int) -> None:
        self.left, self.reads = refusals, 0

    async def last_of_each(self, stream: str, pattern: str) -> list[Any]:
        self.reads += 1
        if self.reads <= self.left:
            raise PublishRefusedError(f"stream {stream} did not answer a batched read")
        return []


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_PAUSES_S", (0.0, 0.0))


async def test_a_read_is_repeated():
    bus = BusyBus(2)

    assert await asking._replies(bus, "acme", "q1") == {}  # type: ignore[arg-type]
    assert bus.reads == 3


async def test_a_broker_that_never_answers_is_told_plainly():
    with pytest.raises(
        asking.UnreadableListsError, match="the lists of a query can't be read: stream RETRIEVED did not"
    ):
        await asking._replies(BusyBus(3), "acme", "q1")  # type: ignore[arg-type]
