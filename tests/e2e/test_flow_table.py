"""contracts.flow against what the services declare: every subscriber stands in the table, and the other way round."""

import pytest

from fanfuse_all_in_one.services import FACTORIES
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.flow import CHANNELS, Delivery
from fanfuse_contracts.streams import JANITOR_CONSUMER
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings

READ_BY_PLAN = {"retrieved", "live_retrieved"}
"""The fuser subscribes to these for each plan, and reads them back: no standing subscription."""
READ_BY_RUNTIME = {"heartbeat"}
"""Heard by every process's view of live instances."""
READ_BY_ORDERED_CONSUMER = {"backend_outcome"}
"""Each health replica replays the stream by a consumer of its own."""


@pytest.fixture
async def declared(nats_server, tmp_path):
    """Stage to (filters of durable consumers, core subjects)."""
    settings = RuntimeSettings(nats_url=nats_server.url, data_dir=tmp_path)
    async with compose(*FACTORIES.values(), settings=settings) as process:
        yield {
            service.stage: (
                {spec.filter_subject for spec in service.router.consumers} - {JANITOR_CONSUMER.filter_subject},
                set(service.router.subjects),
            )
            for service in process.services
        }


def matches(pattern: str, subject: str) -> bool:
    """Whether a filter lies within a channel's subject."""
    if pattern.endswith(".>"):
        return subject.startswith(pattern[:-1])
    return pattern == subject


async def test_every_subscriber_of_the_table_is_declared(declared):
    elsewhere = READ_BY_PLAN | READ_BY_RUNTIME | READ_BY_ORDERED_CONSUMER
    for channel in CHANNELS:
        for who in channel.subscribers:
            if channel.name in elsewhere or who not in set(Stage):
                continue
            consumers, subjects = declared[Stage(who)]
            found = consumers if channel.delivery is Delivery.WORK_QUEUE else subjects
            assert any(matches(channel.subject, subject) for subject in found), f"{who} does not hear {channel.name}"


async def test_everything_declared_stands_in_the_table(declared):
    for stage, (consumers, subjects) in declared.items():
        heard = [channel for channel in CHANNELS if stage.value in channel.subscribers]
        for subject in consumers | subjects:
            assert any(matches(channel.subject, subject) for channel in heard), f"{stage} hears {subject}"


def test_the_factories_cover_every_stage_in_order():
    assert list(FACTORIES) == list(Stage)
