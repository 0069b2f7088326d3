"""Section `security` of `fanfuse.yaml`: who may state a principal."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fanfuse_contracts.base import Written
from fanfuse_contracts.tokens import Token


class PrincipalKey(Written):
    """A public key whose owner may state principals of a tenant."""

    kid: Annotated[str, Field(min_length=1, max_length=200)]
    """Key id, as in the header of the token."""
    public_key: Annotated[str, Field(min_length=43, max_length=1_000)]
    """Ed25519 public key: PEM, or the 32 bytes as unpadded base64url (the `x` of an OKP JWK, RFC 8037)."""


class SecurityConfig(Written):
    """Section `security`."""

    require_signed_principal: bool = False
    """True: a principal counts only as a token signed by a key of the tenant."""
    principal_keys: dict[Token, Annotated[tuple[PrincipalKey, ...], Field(min_length=1, max_length=32)]] = {}
    """By tenant."""

    @model_validator(mode="after")
    def _unique_kids(self) -> Self:
        for tenant, keys in self.principal_keys.items():
            if len({key.kid for key in keys}) != len(keys):
                raise ValueError(f"tenant {tenant!r} has two principal keys with the same kid")
        return self
