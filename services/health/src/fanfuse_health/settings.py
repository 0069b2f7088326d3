"""Settings of the health service: environment variables with the prefix FANFUSE_HEALTH_.

Every replica must run with the same ones, for each decides alone and the first to write wins.
"""

from typing import Annotated

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from fanfuse_contracts import limits
from fanfuse_health.domain.rules import Rules
from fanfuse_runtime.settings import ProcessSettings

_Seconds = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


class HealthSettings(ProcessSettings):
    """When a backend counts as degraded, and how it comes back."""

    model_config = SettingsConfigDict(env_prefix="FANFUSE_HEALTH_", env_ignore_empty=True, extra="ignore", frozen=True)

    window_s: Annotated[float, Field(gt=0.0, le=limits.OUTCOMES_MAX_AGE_S)] = limits.HEALTH_WINDOW_S
    min_failures: Annotated[int, Field(ge=1)] = limits.HEALTH_MIN_FAILURES
    min_share: Annotated[float, Field(ge=0.0, le=1.0)] = limits.HEALTH_MIN_SHARE
    run_failures: Annotated[int, Field(ge=0)] = Rules().run_failures
    """0: failures in a row are no rule of their own."""
    degraded_for_s: _Seconds = limits.DEGRADED_FOR_S
    flap_within_s: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = Rules().flap_within_s
    """0: no damping."""
    longest_period_s: _Seconds = Rules().longest_period_s
    probe_budget_ms: Annotated[int, Field(ge=limits.MIN_BUDGET_MS, le=5_000)] = limits.DEFAULT_BUDGET_MS

    def rules(self) -> Rules:
        """The numbers as the domain takes them."""
        return Rules(
            window_s=self.window_s,
            min_failures=self.min_failures,
            min_share=self.min_share,
            run_failures=self.run_failures,
            degraded_for_s=self.degraded_for_s,
            flap_within_s=self.flap_within_s,
            longest_period_s=self.longest_period_s,
        )
