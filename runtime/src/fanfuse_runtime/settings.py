"""Settings every process shares: environment variables with the prefix FANFUSE_ (and NATS_URL).

A blank variable counts as unset. Precedence: argument > environment > default.
"""

from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from fanfuse_contracts import limits


class RuntimeSettings(BaseSettings):
    """One process of Fanfuse."""

    model_config = SettingsConfigDict(
        env_prefix="FANFUSE_", env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    nats_url: str = Field(
        default="nats://127.0.0.1:4222", validation_alias=AliasChoices("nats_url", "NATS_URL", "FANFUSE_NATS_URL")
    )
    """One URL, or several separated by commas."""
    nats_creds: Path | None = None
    """Credentials file (JWT and nkey) of this process."""
    data_dir: Path = Path(".fanfuse")
    """Index generations of embedded engines, and the embedding cache."""
    config_file: Path | None = None
    """The operator's fanfuse.yaml."""
    ops_host: str = "127.0.0.1"
    ops_port: Annotated[int, Field(ge=0, le=65_535)] | None = None
    """Port of /healthz, /readyz and /metrics; 0 picks a free one; unset: no HTTP endpoint."""
    log_level: str = "info"
    drain_timeout_s: Annotated[float, Field(gt=0)] = limits.DRAIN_TIMEOUT_S
    """How long a stop waits for messages in flight before it gives them back."""
    trace_sample: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """Share of traces recorded when no parent decides."""
