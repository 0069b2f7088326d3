"""The quality meter on a real flow: what each lane contributed, by kind as metrics and by corpus on the bus."""

import asyncio
from math import isclose

import pytest
from nats.aio.msg import Msg

from fanfuse_all_in_one.quality import CorpusQuality, QualityReader, read_quality
from fanfuse_contracts import limits, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind, LaneOutcome
from fanfuse_contracts.quality import LaneQuality, QualityMeasured
from fanfuse_testing.flow import Flow, eventually
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT, ASKED = "acme", 12


async def ask(flow: Flow) -> list[Answer]:
    async with flow.client(TENANT) as client:
        asked = (client.ask(f"{QUESTION} {n}", graph_seeds=SEEDS, top_k=3, budget_ms=20_000) for n in range(ASKED))
        return list(await asyncio.gather(*asked))


def by_hand(answers: list[Answer], kind: Kind) -> tuple[int, int, int]:
    """Compared hits, hits that lanes of this kind found, and those that nobody else found; all lanes replied."""
    hits = [hit for answer in answers for hit in answer.hits]
    found = [hit for hit in hits if any(each.kind is kind for each in hit.contributions)]
    return len(hits), len(found), sum(len({each.kind for each in hit.contributions}) == 1 for hit in found)


async def test_contributions_of_stored_answers_are_told_by_kind_and_by_corpus(flow: Flow) -> None:
    await flow.index(TENANT, "docs", library(), FIELDS)
    assert await read_quality(flow.operator.bus) == ()
    answers = await ask(flow)
    replied = {LaneOutcome.ANSWERED, LaneOutcome.EMPTY, LaneOutcome.CUT}
    assert {lane.outcome for answer in answers for lane in answer.coverage.lanes} <= replied
    hits = sum(len(answer.hits) for answer in answers)
    await eventually(lambda: flow.metric("fanfuse_quality_compared_hits_total") == 3 * hits)
    for kind in Kind:
        compared, found, alone = by_hand(answers, kind)
        assert flow.metric("fanfuse_quality_compared_hits_total", kind=kind.value) == compared > 0
        assert flow.metric("fanfuse_quality_hits_total", kind=kind.value, found="alone") == alone
        assert flow.metric("fanfuse_quality_hits_total", kind=kind.value) == found

    async def told() -> CorpusQuality | None:
        everything = await read_quality(flow.operator.bus)
        return everything[0] if everything and everything[0].lanes[0].answers == ASKED else None

    quality = await eventually(told, within_s=3 * limits.QUALITY_EVERY_S)
    assert (quality.tenant, quality.corpus) == (TENANT, "docs")
    assert [lane.kind for lane in quality.lanes] == list(Kind)
    for lane in quality.lanes:
        compared, found, alone = by_hand(answers, lane.kind)
        assert (lane.answers, lane.lost) == (ASKED, 0)
        assert (lane.compared, lane.found, lane.alone) == (compared, found, alone)
        assert isclose(lane.price or 0.0, alone / compared)
    assert {(lane.kind, lane.backend) for lane in quality.lanes} == {(kind, "main") for kind in Kind}


async def test_counts_of_long_ago_are_left_out(flow: Flow) -> None:
    assert await read_quality(flow.operator.bus, within_s=3_600.0) != ()
    await asyncio.sleep(1.5)
    assert await read_quality(flow.operator.bus, within_s=1.0) == ()


async def test_a_reader_goes_on_where_it_ended(flow: Flow) -> None:
    """A screen that is looked at every second reads what is new, and nothing where nothing is."""
    bus = flow.operator.bus
    reader = QualityReader(bus)
    before = await reader.read()
    assert before == await read_quality(bus) != ()
    asked: list[str] = []

    async def hear(msg: Msg) -> None:
        if msg.subject.startswith(f"$JS.API.CONSUMER.CREATE.{streams.QUALITY.name}"):
            asked.append(msg.subject)

    async with bus.subscribed("$JS.API.CONSUMER.>", hear):
        await bus.nc.flush()
        assert await reader.read() == before
        await bus.nc.flush()
        assert asked == []
        told = QualityMeasured(tenant=TENANT, corpus="more", lanes=(LaneQuality(kind=Kind.VECTOR, backend="main"),))
        await bus.js.publish(subjects.quality(TENANT, "more"), told.to_json())
        assert {each.corpus for each in await reader.read()} == {"docs", "more"}
        await bus.nc.flush()
        assert len(asked) == 1

    await bus.js.purge_stream(streams.QUALITY.name)
    assert {each.corpus for each in await reader.read()} == {"docs", "more"}, "what was read stays until it is too old"
