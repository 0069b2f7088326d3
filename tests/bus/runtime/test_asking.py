"""Requests on one shared inbox: each hears its own reply, none waits for ever, and nothing of it is kept."""

import asyncio

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from fanfuse_runtime.asking import Asking, answer_of
from fanfuse_testing.flow import eventually


@pytest.fixture
async def asking(caller: Client) -> Asking:
    async def echo(msg: Msg) -> None:
        await msg.respond(msg.data)

    async def silent(_msg: Msg) -> None:
        return

    await caller.subscribe("test.echo", cb=echo)
    await caller.subscribe("test.silent", cb=silent)
    return Asking(caller)


async def test_each_request_hears_its_own_reply(asking: Asking) -> None:
    sent = [await asking.ask("test.echo", b"%d" % number, {}, 10.0) for number in range(50)]
    assert [answer_of(await reply).data for reply in sent] == [b"%d" % number for number in range(50)]
    assert (await asking.request("test.echo", b"last", {}, 10.0)).data == b"last"
    assert not asking._waiting


async def test_silence_ends_in_time_and_nobody_at_once(asking: Asking) -> None:
    async with asyncio.timeout(30):
        assert await (await asking.ask("test.silent", b"", {}, 0.05)) is None
        with pytest.raises(NatsTimeoutError):
            await asking.request("test.silent", b"", {}, 0.05)
        with pytest.raises(NoRespondersError):
            await asking.request("test.nobody", b"", {}, 20.0)


async def test_what_nobody_awaits_any_more_is_forgotten(asking: Asking) -> None:
    task = asyncio.create_task(asking.request("test.silent", b"", {}, 60.0))
    await eventually(lambda: asking._waiting, 30.0)
    task.cancel()
    await eventually(lambda: not asking._waiting, 30.0)
    assert task.cancelled()


async def test_inside_the_block_everything_on_its_inbox_is_heard(asking: Asking, caller: Client) -> None:
    heard: list[bytes] = []
    await asking.subscribe()
    with asking.hearing(lambda msg: heard.append(msg.data)) as inbox:
        for number in range(3):
            await caller.publish(inbox, b"%d" % number)
        await eventually(lambda: len(heard) == 3, 30.0)
    await caller.publish(inbox, b"late")
    await asking.request("test.echo", b"", {}, 10.0)
    assert heard == [b"0", b"1", b"2"]
