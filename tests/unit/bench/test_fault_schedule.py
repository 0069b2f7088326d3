"""Faults come from a seed, at their pace; faulty replies from their shares."""

import asyncio
from collections import Counter

import pytest
from nats.aio.client import Client

from fanfuse_contracts import flow
from fanfuse_contracts.enums import Kind, LaneOutcome
from fanfuse_contracts.retrieval import LaneReply
from fanfuse_runtime.bus import Bus, Publication, Stored
from fanfuse_runtime.clock import BrokerClock
from fanfuse_testing.faults.replies import ReplyFaults, UnreliableBus
from fanfuse_testing.faults.schedule import Chaos, FaultKind, plan_faults

VICTIMS = [f"{role}-{number}" for role in ("classifier", "fuser") for number in (1, 2)]
CHAOS = Chaos(kill_every_s=5, freeze_every_s=10, broker_every_s=30, broker_down_s=5)


def test_the_same_seed_plans_the_same_faults_and_another_seed_others():
    first = plan_faults(CHAOS, 7, VICTIMS, 60)

    assert first == plan_faults(CHAOS, 7, VICTIMS, 60)
    assert first != plan_faults(CHAOS, 8, VICTIMS, 60)


def test_each_kind_has_its_pace_and_every_process_its_turn():
    faults = plan_faults(CHAOS, 7, VICTIMS, 60)

    assert [fault.at_s for fault in faults] == sorted(fault.at_s for fault in faults)
    kills = [fault for fault in faults if fault.kind is FaultKind.KILL]
    assert [fault.at_s for fault in kills] == [2.5 + 5 * number for number in range(12)]
    assert Counter(fault.victim for fault in kills) == dict.fromkeys(VICTIMS, 3)
    assert Counter(fault.kind for fault in faults) == {FaultKind.KILL: 12, FaultKind.FREEZE: 6, FaultKind.BROKER: 2}
    assert {fault.for_s for fault in faults if fault.kind is FaultKind.BROKER} == {5}


def test_without_chaos_nothing_is_planned():
    assert plan_faults(Chaos(), 7, VICTIMS, 600) == ()


class Wire(UnreliableBus):
    """Notes what would be sent."""

    def __init__(self, faults: ReplyFaults) -> None:
        super().__init__(Bus(Client(), BrokerClock(), "w"), faults)
        self.sent: list[str] = []

    async def _publish(self, publication: Publication) -> Stored:
        self.sent.append(publication.message_id)
        return Stored(duplicate=False)


def reply(number: int) -> Publication:
    body = LaneReply(
        tenant="t", query_id="q", lane="a", corpus="c", kind=Kind.VECTOR, backend="main", outcome=LaneOutcome.EMPTY
    )
    return Publication(flow.RETRIEVED, "s", body, str(number))


@pytest.mark.parametrize(
    ("faults", "sent"),
    [
        (ReplyFaults(), ["0", "1", "2"]),
        (ReplyFaults(drop=1.0), []),
        (ReplyFaults(duplicate=1.0), ["0", "0.again", "1", "1.again", "2", "2.again"]),
        (ReplyFaults(delay=1.0, delay_s=0.01), ["0", "1", "2"]),
    ],
)
async def test_every_reply_meets_its_fault(faults, sent):
    wire = Wire(faults)
    for number in range(3):
        await wire.publish_all([reply(number)])
    assert wire.sent == sent


async def test_a_held_reply_is_stored_after_the_next_one():
    wire = Wire(ReplyFaults(reorder=1.0))
    held = asyncio.create_task(wire.publish_all([reply(0)]))
    await asyncio.sleep(0)
    wire._faults = ReplyFaults()
    await wire.publish_all([reply(1)])
    await held
    assert wire.sent == ["1", "0"]


async def test_other_messages_pass_untouched():
    wire = Wire(ReplyFaults(drop=1.0))
    stored = await wire.publish_all([reply(0)._replace(channel=flow.OUTCOME)])
    assert (wire.sent, stored) == (["0"], [Stored(duplicate=False)])


def test_faults_are_written_and_read_alike():
    faults = ReplyFaults(drop=0.01, duplicate=0.05, delay_s=0.7, seed=9)

    assert ReplyFaults.parse(str(faults)) == faults
    with pytest.raises(TypeError, match="dorp"):
        ReplyFaults.parse("dorp=1")
