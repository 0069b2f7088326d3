"""Whom to answer when a command cannot be handled.

In: the payload of a command that may not be one, and its subject's kind, tenant and corpus. Out: the lane's address if
the payload names it, else None: then nobody can be told and the fuser counts the lane as silent.
"""

from typing import Annotated

from pydantic import Field, ValidationError

from fanfuse_backend_workers.domain.replies import LaneAddress
from fanfuse_contracts.base import Model
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.tokens import Token


class _Named(Model):
    query_id: Token
    lane: Token
    backend: Token
    attempt: Annotated[int, Field(ge=0)] = 0


def salvage(payload: bytes, kind: Kind, tenant: str, corpus: str) -> LaneAddress | None:
    """The address, as far as the payload gives one."""
    try:
        named = _Named.from_json(payload)
    except ValidationError:
        return None
    return LaneAddress(tenant, named.query_id, named.lane, corpus, kind, named.backend, named.attempt)
