"""Who asks: the claims of a verified token, and what they and the query's own word come to.

In: claims whose signature holds, a tenant, a time in seconds since the epoch. Out: a `Principal`, or a `Rejection` that
says what is wrong and repeats nothing of the token. It verifies no signature and reads no clock.
"""

import json
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from fanfuse_classifier.domain.refusals import refuse_unauthenticated
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import Principal

LEEWAY_S: Final = 5
"""By how much the clock of whoever signs may differ from the broker's."""
MAX_LIFETIME_S: Final = 24 * 3600
_LAST_SECOND: Final = 2**53
"""NumericDates beyond it are not exact in every reader (and no such time will be asked for)."""


def audience(tenant: str) -> str:
    """The claim `aud` of the tokens of a tenant."""
    return f"fanfuse:{tenant}"


def check_claims(claims: Mapping[str, object], tenant: str, now_s: float) -> Principal | Rejection:
    """The principal that the claims state for this tenant at this time (RFC 7519, section 4.1)."""
    if (fault := _fault_of_audience(claims, tenant) or _fault_of_times(claims, now_s)) is not None:
        return refuse_unauthenticated(fault)
    roles = claims.get("roles", [])
    if not isinstance(roles, list):
        return refuse_unauthenticated("the token's roles are not a list")
    try:
        # As JSON: Python's own parser lets unpaired surrogates through, which nobody could publish.
        return Principal.from_json(json.dumps({"id": claims.get("sub"), "roles": roles}).encode())
    except ValidationError as error:
        return refuse_unauthenticated(f"the token's sub or roles can't be used: {_first_fault(error)}")


def _first_fault(error: ValidationError) -> str:
    row = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'roles' if 'roles' in row['loc'] else 'sub'}: {row['msg']}" if row["loc"] else row["msg"]


def _fault_of_audience(claims: Mapping[str, object], tenant: str) -> str | None:
    stated = claims.get("aud")
    if stated == audience(tenant) or (isinstance(stated, list) and audience(tenant) in stated):
        return None
    return f"the token's aud is not {audience(tenant)!r}"


def _fault_of_times(claims: Mapping[str, object], now_s: float) -> str | None:
    issued, expires = _second(claims, "iat"), _second(claims, "exp")
    if issued is None or expires is None:
        return "the token states no iat or no exp, as a number of seconds since 1970"
    starts = _second(claims, "nbf") if "nbf" in claims else issued
    if starts is None:
        return "the token's nbf is not a number of seconds since 1970"
    if expires - issued > MAX_LIFETIME_S:
        return f"the token is valid for longer than {MAX_LIFETIME_S // 3600} hours"
    if now_s >= expires + LEEWAY_S:
        return "the token is expired"
    return "the token is not valid yet" if now_s < max(starts, issued) - LEEWAY_S else None


def _second(claims: Mapping[str, object], claim: str) -> float | None:
    stated = claims.get(claim)
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return None
    return stated if 0 <= stated <= _LAST_SECOND else None


def settle_principal(
    stated: Principal | None, signed: Principal | None, *, signature_required: bool
) -> Principal | Rejection | None:
    """The one principal of a query. `stated`: in its body; `signed`: of its valid token. None: nobody in particular."""
    if signed is None:
        if stated is not None and signature_required:
            return refuse_unauthenticated("a token is missing, and no principal is taken without one here")
        return stated
    if stated is not None and stated != signed:
        return refuse_unauthenticated("the token states another principal than the query; leave the query's out")
    return signed
