"""Checks who signed a principal: compact EdDSA JWTs (RFC 7519, RFC 8037) against the keys of the tenant.

In: the query of a tenant, its token and a time in broker time. Out: the query with the principal that counts, or a
`Rejection`. Nothing of a token is ever part of what comes out, is logged or raised.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from jwt.utils import base64url_decode

from fanfuse_classifier.domain.principals import check_claims, settle_principal
from fanfuse_classifier.domain.refusals import refuse_unauthenticated
from fanfuse_contracts import limits
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.security import SecurityConfig, ed25519_public_bytes

_ALGORITHM: Final = "EdDSA"
_SIGNATURE_ONLY: Final[jwt.types.Options] = {
    "verify_signature": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}
"""Claims are checked against broker time, not against this machine's clock."""


class Authenticator:
    """The principal keys of every tenant."""

    def __init__(self, security: SecurityConfig) -> None:
        self._signature_required = security.require_signed_principal
        self._keys: Mapping[str, Mapping[str, Ed25519PublicKey]] = {
            tenant: {key.kid: Ed25519PublicKey.from_public_bytes(ed25519_public_bytes(key.public_key)) for key in keys}
            for tenant, keys in security.principal_keys.items()
        }

    def authenticate(
        self, query: SubmittedQuery, tenant: str, token: str | None, now_s: float
    ) -> SubmittedQuery | Rejection:
        """The query with the principal that counts. `token` None: the message has no such header."""
        signed = self._verify(token, tenant, now_s) if token is not None else None
        if isinstance(signed, Rejection):
            return signed
        principal = settle_principal(query.principal, signed, signature_required=self._signature_required)
        if isinstance(principal, Rejection):
            return principal
        return query if principal is query.principal else query.model_copy(update={"principal": principal})

    def _verify(self, token: str, tenant: str, now_s: float) -> Principal | Rejection:
        keys = self._keys.get(tenant)
        if keys is None:
            return refuse_unauthenticated(f"tenant {tenant!r} has no security.principal_keys to check a token with")
        if len(token) > limits.MAX_PRINCIPAL_TOKEN_CHARS:
            return refuse_unauthenticated(
                f"the token has {len(token)} characters, at most {limits.MAX_PRINCIPAL_TOKEN_CHARS} are read"
            )
        if not token.isascii():
            return refuse_unauthenticated("the token is no compact JWT")
        return _verify_with(keys, token, tenant, now_s)


def _verify_with(keys: Mapping[str, Ed25519PublicKey], token: str, tenant: str, now_s: float) -> Principal | Rejection:
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") != _ALGORITHM:
            return refuse_unauthenticated(f"the token's alg is not {_ALGORITHM}")
        key = keys.get(header.get("kid", ""))
        if key is None:
            return refuse_unauthenticated(f"the token's kid is not among the keys of tenant {tenant!r}")
        claims = jwt.decode(token, key, algorithms=[_ALGORITHM], options=_SIGNATURE_ONLY)
        if _has_doubles(token):
            return refuse_unauthenticated("a claim stands twice in the token")
    except jwt.InvalidSignatureError:
        return refuse_unauthenticated("the token's signature is not that of the key it names")
    except jwt.InvalidTokenError:
        return refuse_unauthenticated("the token is no compact JWT")
    return check_claims(claims, tenant, now_s)


def _has_doubles(token: str) -> bool:
    """True if an object of the payload names a key twice, which two readers could understand differently."""
    doubled = False

    def check(pairs: list[tuple[str, Any]]) -> None:
        nonlocal doubled
        doubled = doubled or len({key for key, _ in pairs}) != len(pairs)

    json.loads(base64url_decode(token.split(".")[1]), object_pairs_hook=check)
    return doubled
