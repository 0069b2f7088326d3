"""Chooses where the registry of corpora is kept. In: the configuration. Out: a store that is not started yet."""

from pathlib import Path

from fanfuse_contracts.config import FanfuseConfig, Store
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.corpus_store import CorpusStore, StoreUnavailableError
from fanfuse_runtime.kv_store import KvCorpusStore
from fanfuse_runtime.memory_store import MemoryCorpusStore


def build_store(config: FanfuseConfig, bus: Bus, data_dir: Path) -> CorpusStore:
    """The store of section `registry`. Raises `StoreUnavailableError` where its driver is not installed."""
    match config.registry.store:
        case Store.KV:
            return KvCorpusStore(bus)
        case Store.MEMORY:
            return MemoryCorpusStore(config.cards(), data_dir)
        case Store.POSTGRES:
            assert config.registry.postgres_dsn is not None, "the section was validated"
            return _postgres(config.registry.postgres_dsn.get_secret_value())


def _postgres(dsn: str) -> CorpusStore:
    try:
        # The driver is an extra: only who keeps the registry there needs it.
        from fanfuse_runtime.postgres_store import PostgresCorpusStore
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise StoreUnavailableError(
            "registry.store: postgres needs a driver that is not installed: install 'fanfuse-runtime[postgres]'"
        ) from error
    return PostgresCorpusStore(dsn)
