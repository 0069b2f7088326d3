"""What one process offers to the services in it."""

from dataclasses import dataclass

from opentelemetry import trace

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.corpus_store import CorpusStore
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.pools import PoolsView
from fanfuse_runtime.registry import BackendsView
from fanfuse_runtime.settings import RuntimeSettings


@dataclass(frozen=True, slots=True)
class Context:
    """What one process offers to the services in it."""

    bus: Bus
    corpora: CorpusStore
    backends: BackendsView
    pools: PoolsView
    metrics: Metrics
    settings: RuntimeSettings
    config: FanfuseConfig
    tracer: trace.Tracer

    @property
    def instance(self) -> str:
        """Name of this process: one token, unique among the live ones."""
        return self.bus.instance
