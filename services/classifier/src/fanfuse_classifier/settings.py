"""Settings of the classifier: environment variables with the prefix FANFUSE_CLASSIFIER_.

A blank variable counts as unset.
"""

from typing import Annotated

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from fanfuse_contracts import limits
from fanfuse_runtime.settings import ProcessSettings


class ClassifierSettings(ProcessSettings):
    """One classifier."""

    model_config = SettingsConfigDict(
        env_prefix="FANFUSE_CLASSIFIER_", env_ignore_empty=True, extra="ignore", frozen=True
    )

    shape_classifier: str = "rules"
    """Name in the entry-point group `fanfuse.shape_classifiers`."""
    corpus_classifier: str | None = None
    """Name in the entry-point group `fanfuse.corpus_classifiers`. None: the trained profile of the configuration, or
    `term_weights` where there is none."""
    in_flight: Annotated[int, Field(ge=1)] = limits.CLASSIFIER_IN_FLIGHT
    """Queries handled at a time by this process."""
