"""The settings of every process, by the variables that state them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic.fields import FieldInfo

from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_corpus_router.settings import RouterSettings
from fanfuse_fuser.settings import FuserSettings
from fanfuse_health.settings import HealthSettings
from fanfuse_runtime.settings import ProcessSettings, RuntimeSettings

SETTINGS: Final[dict[str, type[ProcessSettings]]] = {
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
    owner: type[ProcessSettings]
    name: str
    field: FieldInfo

    @property
    def variables(self) -> list[str]:
        """The variables that state it, the first one before the others."""
        return self.owner.variables(self.name)


def all_settings() -> Iterator[Setting]:
    """Every setting, by process."""
    for process, owner in SETTINGS.items():
        for name, field in owner.model_fields.items():
            yield Setting(process, owner, name, field)
