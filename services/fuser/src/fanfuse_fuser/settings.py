"""Settings of the fuser alone: environment variables with the prefix FANFUSE_FUSER_."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from fanfuse_contracts import limits
from fanfuse_runtime.settings import ProcessSettings


class FuserSettings(ProcessSettings):
    """One fuser."""

    model_config = SettingsConfigDict(env_prefix="FANFUSE_FUSER_", env_ignore_empty=True, extra="ignore", frozen=True)

    in_flight: Annotated[int, Field(ge=1, le=4_096)] = limits.FUSER_IN_FLIGHT
    """Plans joined at a time; a plan over this stays in the work queue for whichever fuser is free."""
