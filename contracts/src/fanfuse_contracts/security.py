"""Section `security` of `fanfuse.yaml`: who may state a principal."""

import base64
import binascii
import re
from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from fanfuse_contracts.base import Written
from fanfuse_contracts.faults import refuse, repeated
from fanfuse_contracts.tokens import Token

KEY_BYTES: Final = 32
_BASE64URL = re.compile(r"[A-Za-z0-9_-]{43}")
_PEM = re.compile(r"-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----")
_DER_HEAD: Final = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes in a SubjectPublicKeyInfo of Ed25519 (RFC 8410)."""


def ed25519_public_bytes(written: str) -> bytes:
    """The 32 bytes of a key as `PrincipalKey.public_key` holds it.

    Raises `ValueError`; the message never repeats what was written, for it may be a private key.
    """
    text = written.strip()
    if "PRIVATE KEY" in text:
        raise ValueError("is a private key: only the public one belongs here; replace the pair, others have seen it")
    if _BASE64URL.fullmatch(text):
        return _decode(text.translate(str.maketrans("-_", "+/")) + "=")
    pem = _PEM.fullmatch(text)
    der = _decode("".join(pem[1].split())) if pem else b""
    if len(der) != len(_DER_HEAD) + KEY_BYTES or not der.startswith(_DER_HEAD):
        raise ValueError("is no Ed25519 public key: write its PEM, or its 32 bytes as unpadded base64url")
    return der[len(_DER_HEAD) :]


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


class PrincipalKey(Written):
    """A public key whose owner may state principals of a tenant."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kid: Annotated[str, Field(min_length=1, max_length=200)]
    """Key id, as in the header of the token."""
    public_key: Annotated[str, Field(max_length=1_000)]
    """Ed25519 public key: PEM, or the 32 bytes as unpadded base64url (the `x` of an OKP JWK, RFC 8037)."""

    @field_validator("public_key")
    @classmethod
    def _readable(cls, written: str) -> str:
        ed25519_public_bytes(written)
        return written


class SecurityConfig(Written):
    """Section `security`."""

    model_config = ConfigDict(hide_input_in_errors=True)

    require_signed_principal: bool = False
    """True: a principal counts only as a token signed by a key of the tenant."""
    principal_keys: dict[Token, Annotated[tuple[PrincipalKey, ...], Field(min_length=1, max_length=32)]] = {}
    """Keys by tenant."""

    @model_validator(mode="after")
    def _unique_kids(self) -> Self:
        refuse(
            (("principal_keys", tenant, at, "kid"), f"tenant {tenant!r} has two principal keys with this kid")
            for tenant, keys in self.principal_keys.items()
            for at in repeated([key.kid for key in keys])
        )
        return self
