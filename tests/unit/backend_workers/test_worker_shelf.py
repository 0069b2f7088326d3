"""Opened generations: one switch at a time per key, the last wish wins, nothing leaks, nothing old stands in."""

import asyncio
from collections.abc import Callable

import pytest

from fanfuse_backend_workers import shelf as shelf_module
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.shelf import Opener, Shelf
from fanfuse_contracts.enums import FailureKind


class Door:
    """Opens names when the test lets it, and remembers what is open."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.opened: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def opener(self, name: str, error: Exception | None = None) -> Opener[str]:
        async def opener() -> str:
            await self.gate.wait()
            if error is not None:
                raise error
            self.open.append(name)
            self.opened.append(name)
            return name

        return opener

    async def close(self, name: str) -> None:
        self.open.remove(name)


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def shelf(door: Door) -> Shelf[str, str]:
    return Shelf(door.close)


async def used(shelf: Shelf[str, str], wait_s: float = 0.0) -> str:
    with await shelf.lease("k", wait_s) as thing:
        return thing


async def test_the_last_of_several_wishes_wins_and_the_others_are_closed(shelf: Shelf[str, str], door: Door) -> None:
    door.gate.clear()
    for number, name in enumerate("abc"):
        shelf.want("k", name, door.opener(name), since=number)
        await asyncio.sleep(0)
    assert shelf.unsettled_since() == 0
    door.gate.set()
    await shelf.settled()
    assert await used(shelf) == "c"
    assert door.open == ["c"]
    assert shelf.unsettled_since() is None
    await shelf.close()
    assert door.open == []


async def test_the_same_version_is_not_opened_again(shelf: Shelf[str, str], door: Door) -> None:
    for _ in range(3):
        shelf.want("k", 1, door.opener("a"), since=0)
        await shelf.settled()
    assert door.opened == ["a"]


async def test_an_old_thing_lives_until_its_last_user_leaves(shelf: Shelf[str, str], door: Door) -> None:
    shelf.want("k", 1, door.opener("a"), since=0)
    await shelf.settled()
    with await shelf.lease("k", 0.0) as first, await shelf.lease("k", 0.0) as second:
        shelf.want("k", 2, door.opener("b"), since=7)
        await asyncio.sleep(0.02)
        assert await used(shelf) == "b"
        assert (first, second) == ("a", "a")
        assert door.open == ["a", "b"]
        assert shelf.unsettled_since() == 7
    await asyncio.wait_for(shelf.settled(), 1)
    assert door.open == ["b"]


async def test_dropping_closes_and_forgets_even_while_opening(shelf: Shelf[str, str], door: Door) -> None:
    door.gate.clear()
    shelf.want("k", 1, door.opener("a"), since=0)
    await asyncio.sleep(0)
    shelf.drop("k", since=1)
    shelf.drop("unknown", since=1)
    door.gate.set()
    await shelf.settled()
    assert (door.open, shelf.keys) == ([], ())
    with pytest.raises(SearchError, match="not known"):
        await used(shelf)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (SearchError(FailureKind.NOT_FOUND, "no directory"), FailureKind.NOT_FOUND),
        (OSError("broken"), FailureKind.CONFIG),
    ],
)
async def test_what_cannot_be_opened_fails_typed_and_the_old_does_not_stand_in(
    shelf: Shelf[str, str], door: Door, error: Exception, kind: FailureKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.want("k", 1, door.opener("a"), since=0)
    await shelf.settled()
    shelf.want("k", 2, door.opener("b", error), since=1)
    await shelf.settled()
    assert door.open == []
    with pytest.raises(SearchError) as caught:
        await used(shelf, 0.5)
    assert caught.value.kind is kind
    # Later a query has it tried again; a new wish is tried at once.
    monkeypatch.setattr(shelf_module, "TRY_AGAIN_AFTER_S", 0.0)
    shelf.want("k", 3, door.opener("c"), since=2)
    assert await used(shelf, 1.0) == "c"


async def test_a_failed_opening_is_tried_again_when_a_query_asks(
    shelf: Shelf[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Callable[[], str]] = []

    async def opener() -> str:
        if len(answers) < 2:
            answers.append(str)
            raise SearchError(FailureKind.NOT_FOUND, "not there yet")
        return "a"

    async def close(_thing: str) -> None:
        return

    late: Shelf[str, str] = Shelf(close)
    late.want("k", 1, opener, since=0)
    await late.settled()
    with pytest.raises(SearchError):
        await used(late)
    await late.settled()
    assert len(answers) == 1, "not before its time"
    monkeypatch.setattr(shelf_module, "TRY_AGAIN_AFTER_S", 0.0)
    for _ in range(2):
        with pytest.raises(SearchError):
            await used(late)
        await late.settled()
    assert await used(late) == "a"


async def test_a_use_waits_for_an_opening_but_not_for_ever(shelf: Shelf[str, str], door: Door) -> None:
    door.gate.clear()
    shelf.want("k", 1, door.opener("a"), since=0)
    with pytest.raises(SearchError, match="still being opened"):
        await used(shelf, 0.05)
    waiting = asyncio.create_task(used(shelf, 5.0))
    await asyncio.sleep(0)
    door.gate.set()
    assert await asyncio.wait_for(waiting, 1) == "a"
