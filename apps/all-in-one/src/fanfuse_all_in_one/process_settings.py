"""The settings of every process, by the variables that state them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_corpus_router.settings import RouterSettings
from fanfuse_fuser.settings import FuserSettings
from fanfuse_health.settings import HealthSettings
from fanfuse_runtime.settings import RuntimeSettings

SETTINGS: Final[dict[str, type[BaseSettings]]] = {
    "every process": RuntimeSettings,
    "classifier": ClassifierSettings,
    "corpus-router": RouterSettings,
    "backend-workers": WorkerSettings,
    "fuser": FuserSettings,
    "health": HealthSettings,
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a process."""

    process: str
    owner: type[BaseSettings]
    name: str
    field: FieldInfo

    @property
    def variables(self) -> list[str]:
        """The variables that state it, the first one before the others."""
        alias = self.field.validation_alias
        if isinstance(alias, AliasChoices):
            return [str(choice) for choice in alias.choices if str(choice).isupper()]
        return [f"{self.owner.model_config.get('env_prefix', '')}{self.name.upper()}"]


def all_settings() -> Iterator[Setting]:
    """Every setting, by process."""
    for process, owner in SETTINGS.items():
        for name, field in owner.model_fields.items():
            yield Setting(process, owner, name, field)
