"""Section `pressure` of `fanfuse.yaml`: how much one tenant may ask at a time."""

from typing import Annotated

from pydantic import Field

from fanfuse_contracts import limits
from fanfuse_contracts.base import Written
from fanfuse_contracts.tokens import Token


class PressureConfig(Written):
    """Section `pressure`."""

    tenant_in_flight: Annotated[int, Field(ge=0)] = limits.TENANT_IN_FLIGHT
    """Most queries of one tenant between their classification and their answer, over all replicas; the rest is refused
    as `overloaded`, to be asked again. 0: no ceiling."""
    tenants: dict[Token, Annotated[int, Field(ge=0)]] = {}
    """The ceiling of single tenants, instead."""

    def ceiling_of(self, tenant: str) -> int:
        """Most queries in flight of a tenant; 0: unbounded."""
        return self.tenants.get(tenant, self.tenant_in_flight)
