"""Signed principals: what is accepted, and everything that must not be."""

import base64
import hashlib
import hmac
import json
import math

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fanfuse_classifier.adapters.principals import Authenticator
from fanfuse_contracts.enums import RejectionCode
from fanfuse_contracts.limits import MAX_PRINCIPAL_TOKEN_CHARS
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_contracts.security import SecurityConfig

NOW = 1_800_000_000.0
ALICE = Principal(id="alice", roles=frozenset({"staff", "hr"}))
CLAIMS = {"sub": "alice", "roles": ["staff", "hr"], "aud": "fanfuse:acme", "iat": NOW, "exp": NOW + 60}


def key(number):
    return Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


def raw(private):
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def pem(private):
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


ACME, ACME_OLD, GLOBEX = key(1), key(2), key(3)
KEYS = {
    "acme": [
        {"kid": "2026", "public_key": encoded(raw(ACME))},
        {"kid": "2025", "public_key": pem(ACME_OLD)},
    ],
    "globex": [{"kid": "2026", "public_key": pem(GLOBEX)}, {"kid": "globex", "public_key": pem(GLOBEX)}],
}


def sign(private=ACME, kid="2026", headers=None, **changes):
    claims = {name: value for name, value in (CLAIMS | changes).items() if value is not ...}
    return jwt.encode(claims, private, algorithm="EdDSA", headers={"kid": kid} | (headers or {}))


def sign_parts(header, payload, private=ACME):
    signed = f"{encoded(header)}.{encoded(payload)}"
    return f"{signed}.{encoded(private.sign(signed.encode()))}"


def authenticate(token, *, principal=None, tenant="acme", required=False, keys=KEYS, now=NOW + 1):
    security = SecurityConfig.model_validate({"require_signed_principal": required, "principal_keys": keys})
    query = SubmittedQuery(text="x", principal=principal)
    return Authenticator(security).authenticate(query, tenant, token, now)


def accepted(token, **options):
    found = authenticate(token, **options)
    assert isinstance(found, SubmittedQuery), found
    return found.principal


def refused(token, **options):
    found = authenticate(token, **options)
    assert isinstance(found, Rejection), found
    assert (found.code, found.retryable) == (RejectionCode.UNAUTHENTICATED, False)
    assert found.message.startswith("Fanfuse-Principal: ")
    for part in (token or "").split("."):
        assert len(part) < 8 or part not in found.message
    return found.message.removeprefix("Fanfuse-Principal: ")


@pytest.mark.parametrize(("private", "kid"), [(ACME, "2026"), (ACME_OLD, "2025")])
def test_a_token_of_any_key_of_the_tenant_states_the_principal(private, kid):
    """As raw key or as PEM."""
    assert accepted(sign(private, kid)) == ALICE


@pytest.mark.parametrize("changes", [{"aud": ["other", "fanfuse:acme"]}, {"nbf": NOW}, {"iss": "sso", "jti": "1"}])
def test_more_claims_and_several_audiences_are_fine(changes):
    assert accepted(sign(**changes)) == ALICE


def test_roles_may_be_absent():
    assert accepted(sign(roles=...)) == Principal(id="alice")


def test_the_querys_own_principal_may_stand_beside_it_if_it_is_the_same():
    assert accepted(sign(), principal=Principal(id="alice", roles=frozenset({"hr", "staff"}))) == ALICE


@pytest.mark.parametrize(
    "other", [Principal(id="bob"), Principal(id="alice"), Principal(id="alice", roles=frozenset({"admin"}))]
)
@pytest.mark.parametrize("required", [True, False])
def test_two_principals_that_differ_are_refused(other, required):
    assert "states another principal" in refused(sign(), principal=other, required=required)


def test_everything_else_of_the_query_stays():
    query = SubmittedQuery(text="x", top_k=3, corpora=("a",))
    security = SecurityConfig.model_validate({"principal_keys": KEYS})
    found = Authenticator(security).authenticate(query, "acme", sign(), NOW)

    assert found == query.model_copy(update={"principal": ALICE})


def test_without_a_token_the_query_itself_is_believed_where_no_signature_is_required():
    assert accepted(None, principal=ALICE) == ALICE
    assert accepted(None) is None


def test_where_signatures_are_required_a_principal_without_a_token_is_refused():
    assert "a token is missing" in refused(None, principal=ALICE, required=True)


def test_where_signatures_are_required_nobody_in_particular_may_still_ask():
    """TEN-06: no principal, so only what is public."""
    assert accepted(None, required=True) is None


def test_alg_none_is_refused():
    unsigned = jwt.encode(CLAIMS, "", algorithm="none", headers={"kid": "2026"})

    assert "alg is not EdDSA" in refused(unsigned)
    assert "alg is not EdDSA" in refused(unsigned + encoded(b"x" * 64))


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize("secret", [raw(ACME), pem(ACME).encode(), encoded(raw(ACME)).encode()])
@pytest.mark.parametrize("alg", ["HS256", "HS512"])
def test_a_public_key_is_no_secret(secret, alg):
    """The classic confusion: the token is signed symmetrically with what everybody knows."""
    signed = f"{encoded(json.dumps({'alg': alg, 'kid': '2026'}).encode())}.{encoded(json.dumps(CLAIMS).encode())}"
    digest = hmac.digest(secret, signed.encode(), {"HS256": hashlib.sha256, "HS512": hashlib.sha512}[alg])

    assert "alg is not EdDSA" in refused(f"{signed}.{encoded(digest)}")


@pytest.mark.parametrize("alg", ["eddsa", "Ed25519", "ES256", "RS256", ["EdDSA"], None, 1])
def test_any_other_alg_is_refused(alg):
    header = {"kid": "2026"} | ({"alg": alg} if alg is not None else {})

    assert refused(sign_parts(json.dumps(header).encode(), json.dumps(CLAIMS).encode()))


@pytest.mark.parametrize("kid", ["2024", "", "globex", "2026 ", "A" * 300])
def test_an_unknown_kid_is_refused(kid):
    assert "kid is not among the keys of tenant 'acme'" in refused(sign(kid=kid))


@pytest.mark.parametrize("kid", [None, 2026, ["2026"], {"2026": 1}])
def test_a_kid_that_is_no_text_is_refused(kid):
    header = {"alg": "EdDSA"} | ({"kid": kid} if kid is not None else {})

    assert refused(sign_parts(json.dumps(header).encode(), json.dumps(CLAIMS).encode()))


def test_a_token_of_another_tenants_key_is_refused():
    """TEN-04: also under a kid that both tenants have, and whatever its audience is."""
    for aud in ("fanfuse:acme", "fanfuse:globex"):
        assert "kid is not among" in refused(sign(GLOBEX, "globex", aud=aud))
        assert "signature is not that of the key" in refused(sign(GLOBEX, "2026", aud=aud))


def test_a_valid_token_is_refused_for_another_tenant():
    keys = {"acme": KEYS["acme"], "globex": KEYS["acme"]}

    assert "aud is not 'fanfuse:globex'" in refused(sign(), tenant="globex", keys=keys)


def test_a_tenant_without_keys_takes_no_token():
    assert "tenant 'initech' has no security.principal_keys" in refused(sign(), tenant="initech")
    assert "has no security.principal_keys" in refused(sign(), keys={})


@pytest.mark.parametrize(
    "aud", [..., "fanfuse:globex", "fanfuse:*", "acme", "", [], ["fanfuse:acm"], {"fanfuse:acme": 1}, None]
)
def test_a_wrong_audience_is_refused(aud):
    assert "aud is not 'fanfuse:acme'" in refused(sign(aud=aud))


def test_time_is_the_brokers_with_five_seconds_of_leeway():
    token = sign(iat=NOW, exp=NOW + 60)

    assert accepted(token, now=NOW - 4.9) == ALICE
    assert "not valid yet" in refused(token, now=NOW - 5.1)
    assert accepted(token, now=NOW + 64.9) == ALICE
    assert "expired" in refused(token, now=NOW + 65)


def test_a_token_is_not_valid_before_its_nbf():
    assert "not valid yet" in refused(sign(nbf=NOW + 10))
    assert accepted(sign(nbf=NOW + 10), now=NOW + 10) == ALICE


def test_a_token_from_the_future_is_not_valid_yet_whatever_its_nbf_says():
    assert "not valid yet" in refused(sign(iat=NOW + 3_600, exp=NOW + 7_200, nbf=NOW))


def test_a_token_may_live_for_a_day():
    assert accepted(sign(exp=NOW + 86_400)) == ALICE
    assert "longer than 24 hours" in refused(sign(exp=NOW + 86_401))
    assert "longer than 24 hours" in refused(sign(iat=0))


@pytest.mark.parametrize("claim", ["exp", "iat"])
@pytest.mark.parametrize(
    "value", [..., None, "1800000060", True, math.nan, math.inf, -math.inf, -1, 10**400, 1e300, [NOW], {}]
)
def test_times_that_are_no_times_are_refused(claim, value):
    """Not a number compares as false with everything: it must never mean for ever."""
    assert refused(sign(**{claim: value}))


@pytest.mark.parametrize("value", [None, "soon", math.nan, True])
def test_an_nbf_that_is_no_time_is_refused(value):
    assert "nbf is not a number" in refused(sign(nbf=value))


@pytest.mark.parametrize("roles", ["staff", {"staff": True}, 7, None, True])
def test_roles_that_are_no_list_are_refused(roles):
    assert "roles are not a list" in refused(sign(roles=roles))


@pytest.mark.parametrize("roles", [[1], [None], [["staff"]], ["\ud800"], [str(n) for n in range(33)]])
def test_roles_of_which_one_is_no_text_or_that_are_too_many_are_refused(roles):
    assert "sub or roles can't be used" in refused(sign(roles=roles))


@pytest.mark.parametrize("sub", [..., None, "", 7, ["alice"], "a" * 201, "\ud800"])
def test_a_sub_that_names_nobody_is_refused(sub):
    assert "sub or roles can't be used" in refused(sign(sub=sub))


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        ".",
        "..",
        "a.b",
        "a.b.c",
        "not a token",
        "Bearer " + sign(),
        sign() + ".x",
        sign() + "=",
        sign() + " ",
        sign().replace(".", "", 1),
        sign() + "é",
        "\ud800.\ud800.\ud800",
        sign_parts(b"[1]", b"{}"),
        sign_parts(b"{", b"{}"),
        sign_parts(b"\xff", b"{}"),
        sign_parts(b"[" * 2_000, b"{}"),
        sign_parts(b'{"alg":"EdDSA","kid":"2026"}', b"[" * 2_000),
        sign_parts(b'{"alg":"EdDSA","kid":"2026"}', b'["alice"]'),
        sign_parts(b'{"alg":"EdDSA","kid":"2026"}', b"\xff"),
        sign_parts(b'{"alg":"EdDSA","kid":"2026","crit":["exp"]}', json.dumps(CLAIMS).encode()),
        sign_parts(b'{"alg":"EdDSA","kid":"2026","b64":false,"crit":["b64"]}', json.dumps(CLAIMS).encode()),
        json.dumps({"protected": "x", "payload": "y", "signature": "z"}),
    ],
)
def test_what_is_no_compact_jwt_is_refused(token):
    assert refused(token)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_changed_character_anywhere_is_refused(place):
    parts = sign().split(".")
    middle = len(parts[place]) // 2
    other = "A" if parts[place][middle] != "A" else "B"
    parts[place] = parts[place][:middle] + other + parts[place][middle + 1 :]

    assert refused(".".join(parts))


def test_a_token_signed_over_other_claims_is_refused():
    header, _, signature = sign().split(".")
    forged = encoded(json.dumps(CLAIMS | {"sub": "root"}).encode())

    assert "signature" in refused(f"{header}.{forged}.{signature}")


def test_a_megabyte_is_not_even_read():
    assert f"at most {MAX_PRINCIPAL_TOKEN_CHARS} are read" in refused(sign(padding="x" * 1_000_000))
    assert f"at most {MAX_PRINCIPAL_TOKEN_CHARS} are read" in refused("é" * 1_000_000)


def test_a_claim_that_stands_twice_is_refused():
    """Whoever signed may have meant the first, whoever reads takes the last."""
    header = json.dumps({"alg": "EdDSA", "kid": "2026"}).encode()
    payload = json.dumps(CLAIMS).replace("{", '{"sub": "eve", ', 1).encode()

    assert "twice" in refused(sign_parts(header, payload))
