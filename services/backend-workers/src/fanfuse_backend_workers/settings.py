"""Settings of the workers alone: environment variables with the prefix FANFUSE_WORKER_."""

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode, SettingsConfigDict

from fanfuse_backend_workers.domain.pools import Pool, parse_pools
from fanfuse_contracts import limits
from fanfuse_runtime.settings import ProcessSettings

DEFAULT_POOLS = "vector/main,keyword/main,graph/main"


def _pools(value: object) -> object:
    return parse_pools(value) if isinstance(value, str) else value


class WorkerSettings(ProcessSettings):
    """One process of workers."""

    model_config = SettingsConfigDict(env_prefix="FANFUSE_WORKER_", env_ignore_empty=True, extra="ignore", frozen=True)

    pools: Annotated[tuple[Pool, ...], NoDecode, BeforeValidator(_pools), Field(min_length=1)] = parse_pools(
        DEFAULT_POOLS
    )
    """Pools served, as `kind/pool,kind/pool`; each is one durable consumer shared by every process that serves it."""
    in_flight: Annotated[int, Field(ge=1, le=1_024)] = limits.WORKER_IN_FLIGHT
    """Commands of one pool handled at a time; one more stays in the work queue for whichever worker is free."""
    in_flight_per_corpus: Annotated[int, Field(ge=1, le=1_024)] = limits.WORKER_IN_FLIGHT_PER_CORPUS
    """Searches of one corpus on one backend at a time; over that its lanes fail `overloaded`."""
    embedder_threads: Annotated[int, Field(ge=1, le=64)] = 1
    """Threads that embed query texts."""
