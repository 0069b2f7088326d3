"""The health service: which backends are degraded, and who gets an answer when a message is lost."""

import time

from fanfuse_contracts.enums import Stage
from fanfuse_health import bus
from fanfuse_health.adapters.outcomes import OutcomeReader
from fanfuse_health.adapters.prober import BusProber
from fanfuse_health.adapters.queues import StreamQueues
from fanfuse_health.adapters.states import BucketStateStore
from fanfuse_health.janitor import Janitor
from fanfuse_health.monitor import Monitor
from fanfuse_health.probing import Probing
from fanfuse_health.settings import HealthSettings
from fanfuse_runtime.context import Context
from fanfuse_runtime.service import Service


def build(context: Context) -> Service:
    """The manifest."""
    settings = HealthSettings()
    rules = settings.rules()
    monitor = Monitor(BucketStateStore(context.bus), rules, time.monotonic)
    probing = Probing(
        monitor,
        BusProber(context.bus, settings.probe_budget_ms),
        cards=context.corpora.values.values,
        workers=context.pools.workers,
        instance=context.instance,
        rules=rules,
        now_s=time.monotonic,
    )
    janitor = Janitor(StreamQueues(context.bus), context.bus, context.metrics)
    return Service(
        stage=Stage.HEALTH,
        router=bus.declare(context, janitor, probing),
        warm_up=monitor.refresh,
        background=(
            OutcomeReader(context.bus, monitor).run,
            bus.tick_loop(context, monitor, probing),
            bus.sweep_loop(context, janitor),
            bus.queues_loop(context),
        ),
        close=probing.stop,
    )
