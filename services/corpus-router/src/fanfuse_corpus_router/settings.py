"""Knobs of this service: environment variables with the prefix FANFUSE_ROUTER_.

How corpora are selected is no setting of the process but a section of the operator's file (`retrieval.routing`).
"""

from typing import Annotated

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from fanfuse_contracts import limits
from fanfuse_runtime.settings import ProcessSettings


class RouterSettings(ProcessSettings):
    """One instance of the corpus router."""

    model_config = SettingsConfigDict(env_prefix="FANFUSE_ROUTER_", env_ignore_empty=True, extra="ignore", frozen=True)

    in_flight: Annotated[int, Field(ge=1, le=1_024)] = limits.ROUTER_IN_FLIGHT
    """Queries handled at a time."""
