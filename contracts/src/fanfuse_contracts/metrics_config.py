"""Section `metrics` of `fanfuse.yaml`: which tenants and corpora have series of their own."""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from fanfuse_contracts import limits
from fanfuse_contracts.base import Written
from fanfuse_contracts.faults import Fault, refuse, repeated
from fanfuse_contracts.metrics import OTHER
from fanfuse_contracts.tokens import Token

_NAME: Final = re.compile(r"[a-z0-9_-]{1,64}/[a-z0-9_-]{1,64}")


def _check_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"{value[:160]!r} is no corpus: write <tenant>/<corpus>")
    return value


CorpusName = Annotated[str, AfterValidator(_check_name)]


class MetricsConfig(Written):
    """Section `metrics`. What is not named here is counted as `other`: the number of series never grows by itself."""

    corpora: Annotated[tuple[CorpusName, ...], Field(max_length=limits.METRICS_MAX_CORPORA)] = ()
    """Corpora with series of their own, as `<tenant>/<corpus>`."""
    tenant_classes: Annotated[dict[Token, tuple[Token, ...]], Field(max_length=limits.METRICS_MAX_TENANT_CLASSES)] = {}
    """Tenants by class, such as `paying: [acme, globex]`: queries and fallbacks are counted by class."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        refuse(self._faults())
        return self

    def _faults(self) -> Iterator[Fault]:
        if OTHER in self.tenant_classes:
            yield ("tenant_classes", OTHER), f"the class {OTHER!r} is made of all tenants in no class: name another"
        for at in repeated(self.corpora):
            yield ("corpora", at), f"corpus {self.corpora[at]!r} stands twice"
        places = [(name, at) for name, tenants in self.tenant_classes.items() for at in range(len(tenants))]
        for at in repeated([self.tenant_classes[name][at] for name, at in places]):
            name, position = places[at]
            tenant = self.tenant_classes[name][position]
            yield ("tenant_classes", name, position), f"tenant {tenant!r} is in two classes"

    def class_of(self) -> dict[str, str]:
        """Tenant to class."""
        return {tenant: name for name, tenants in self.tenant_classes.items() for tenant in tenants}
