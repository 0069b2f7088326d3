"""The health service exports what waits in every work queue, and nothing where nothing is known."""

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.streams import FUSER_CONSUMER

NAMES = ("pending", "ack_pending", "oldest_seconds")


def gauges(process, consumer: str) -> dict[str, float | None]:
    value = process.metrics.registry.get_sample_value
    return {name: value(f"fanfuse_consumer_{name}", {"consumer": consumer}) for name in NAMES}


async def test_lag_and_age_of_a_queue(deployment, eventually):
    async with deployment.health() as (process,):
        js = deployment.bus.js
        await eventually(lambda: gauges(process, "classifier") == dict.fromkeys(NAMES, 0.0), within_s=30.0)
        for number in range(3):
            await js.publish(subjects.query_submitted("acme", f"q{number}"), b"{}")

        def told() -> bool:
            now = gauges(process, "classifier")
            return (now["pending"], now["ack_pending"]) == (3.0, 0.0) and (now["oldest_seconds"] or 0.0) > 1.0

        await eventually(told, within_s=30.0)
        await js.purge_stream(streams.QUERIES.name)
        await eventually(lambda: gauges(process, "classifier")["pending"] == 0.0, within_s=30.0)
        assert gauges(process, "classifier") == dict.fromkeys(NAMES, 0.0)


async def test_a_queue_that_is_gone_is_no_longer_exported(deployment, eventually):
    async with deployment.health() as (process,):
        js = deployment.bus.js
        await eventually(lambda: gauges(process, "fuser")["pending"] == 0.0, within_s=30.0)
        await js.delete_consumer(FUSER_CONSUMER.stream, FUSER_CONSUMER.durable)
        await eventually(lambda: gauges(process, "fuser") == dict.fromkeys(NAMES), within_s=30.0)
        assert gauges(process, "classifier")["pending"] == 0.0, "the others are still told"
