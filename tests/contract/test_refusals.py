"""What the server refuses reaches who waits for it, and nobody else."""

import asyncio

import pytest

from fanfuse_contracts.refusals import Refusal, Refusals, RefusedError, refusal_of

VIOLATION = 'nats: permissions violation for publish to "fanfuse.v1.query.decide.globex"'
DEAF = 'nats: permissions violation for subscription to "_inbox_acme.x1.*"'


def test_a_violation_is_read_and_nothing_else_is() -> None:
    assert refusal_of(Exception(VIOLATION)) == Refusal(True, "fanfuse.v1.query.decide.globex")
    assert refusal_of(Exception('Permissions Violation for Subscription to "a.B" using queue "q"')) == Refusal(
        False, "a.b"
    )
    assert refusal_of(TimeoutError("nats: timeout")) is None


async def ended_by(refusals: Refusals, *subjects: str) -> str:
    try:
        async with refusals.raised(*subjects):
            await asyncio.sleep(30)
    except RefusedError as error:
        return str(error)
    return "not ended"


async def test_the_block_of_the_subject_ends_and_the_others_go_on() -> None:
    refusals = Refusals("_INBOX_acme")
    other = asyncio.create_task(ended_by(refusals, "fanfuse.v1.query.decide.acme"))
    ended = asyncio.create_task(ended_by(refusals, "fanfuse.v1.query.DECIDE.globex"))
    await asyncio.sleep(0)
    assert refusals.hear(Exception(VIOLATION)) is not None
    assert refusals.hear(Exception(VIOLATION)) is not None, "said again while it ends: nobody is left to hear it"
    assert await ended == 'may not publish to "fanfuse.v1.query.decide.globex"'
    assert not other.done()
    other.cancel()


async def test_the_inner_block_ends_and_the_outer_one_goes_on() -> None:
    refusals = Refusals("_INBOX_acme")
    async with refusals.raised():
        inner = asyncio.create_task(asyncio.sleep(0))
        inner.add_done_callback(lambda _: refusals.hear(Exception(VIOLATION)))
        assert "decide" in await ended_by(refusals)
        await asyncio.sleep(0.01)


async def test_who_hears_no_replies_waits_for_none_until_it_is_connected_anew() -> None:
    refusals = Refusals("_INBOX_acme")
    waiting = [asyncio.create_task(ended_by(refusals, subject)) for subject in ("a", "b")]
    await asyncio.sleep(0)
    refusals.hear(Exception(DEAF))
    assert set(await asyncio.gather(*waiting)) == {'may not hear "_inbox_acme.x1.*"'}
    assert "may not hear" in await ended_by(refusals)
    assert not refusals.hears_replies
    refusals.forget()
    async with refusals.raised("a"):
        assert refusals.hears_replies


async def test_a_block_that_is_over_before_it_is_ended_ends_as_refused_all_the_same() -> None:
    refusals = Refusals("_INBOX")
    with pytest.raises(RefusedError, match="decide"):
        async with refusals.raised():
            refusals.hear(Exception(VIOLATION))


async def test_a_timeout_inside_stays_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with Refusals("_INBOX").raised("a"), asyncio.timeout(0):
            await asyncio.sleep(1)
