"""The operators' file as a model: nothing unknown, every fault with its path, keys that can be read, sound cards."""

import base64

import pytest
from pydantic import ValidationError

from fanfuse_contracts.config import FanfuseConfig, RegistryConfig, RoutingConfig
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.faults import FaultsError
from fanfuse_contracts.security import PrincipalKey, SecurityConfig, ed25519_public_bytes

RAW = bytes(range(32))
JWK = base64.urlsafe_b64encode(RAW).decode().rstrip("=")
DER = bytes.fromhex("302a300506032b6570032100") + RAW


def pem(der: bytes, kind: str = "PUBLIC KEY") -> str:
    return f"-----BEGIN {kind}-----\n{base64.encodebytes(der).decode()}-----END {kind}-----\n"


def faults(error: ValidationError):
    causes = [row.get("ctx", {}).get("error") for row in error.errors()]
    return [fault for cause in causes if isinstance(cause, FaultsError) for fault in cause.faults]


def corpus(name: str, **more):
    return {"id": name, "tenant_id": "t", **more}


@pytest.mark.parametrize("written", [JWK, f" {JWK}\n", pem(DER), pem(DER).replace("\n", "\r\n")])
def test_an_ed25519_key_is_read_as_pem_or_jwk(written):
    assert ed25519_public_bytes(written) == RAW
    assert PrincipalKey(kid="k", public_key=written).public_key == written


@pytest.mark.parametrize(
    "written",
    [
        "",
        "x",
        JWK + "=",
        JWK[:-1],
        JWK.replace(JWK[0], "+"),
        RAW.hex(),
        pem(DER[:-1]),
        pem(DER + b"x"),
        pem(bytes.fromhex("302a300506032b656e032100") + RAW),
        pem(DER).replace("BEGIN", "begin"),
        pem(DER, "CERTIFICATE"),
        pem(DER) + pem(DER),
    ],
)
def test_what_is_no_ed25519_public_key_is_refused(written):
    with pytest.raises(ValidationError, match="no Ed25519 public key"):
        PrincipalKey(kid="k", public_key=written)


def test_a_private_key_is_named_as_such_and_never_repeated():
    private = pem(b"secret-of-the-tenant", "PRIVATE KEY")
    with pytest.raises(ValidationError, match="is a private key") as refused:
        PrincipalKey(kid="k", public_key=private)

    assert private.splitlines()[1] not in str(refused.value)


def test_two_keys_with_one_kid():
    key = {"kid": "k", "public_key": JWK}
    with pytest.raises(ValidationError, match="two principal keys") as refused:
        SecurityConfig.model_validate({"principal_keys": {"t": [key, key], "u": [key]}})

    assert [path for path, _ in faults(refused.value)] == [("principal_keys", "t", 1, "kid")]


def test_every_fault_of_the_routing_section_at_once():
    rule, scope = {"name": "r", "corpora": ["a"]}, {"name": "s", "kind": "domain", "aliases": ["s"]}
    with pytest.raises(ValidationError) as refused:
        RoutingConfig.model_validate(
            {"min_corpora": 3, "max_corpora": 2, "rules": [rule, rule, rule], "scopes": [scope, scope]}
        )

    assert [path for path, _ in faults(refused.value)] == [
        ("max_corpora",),
        ("rules", 1, "name"),
        ("rules", 2, "name"),
        ("scopes", 1, "name"),
    ]


def test_every_fault_of_the_corpora_at_once():
    with pytest.raises(ValidationError) as refused:
        FanfuseConfig.model_validate(
            {
                "corpora": [
                    corpus("a", backends=["vector/x", "keyword/main", "graph/y"]),
                    corpus("a", card={"fallbacks": ["a"]}),
                    corpus("_all"),
                ]
            }
        )

    assert [path for path, _ in faults(refused.value)] == [
        ("corpora", 1, "id"),
        ("corpora", 0, "backends", 0),
        ("corpora", 0, "backends", 2),
        ("corpora", 1),
        ("corpora", 2),
    ]


def test_where_the_registry_is_kept_and_its_address_belong_together():
    assert RegistryConfig.model_validate({"store": "postgres", "postgres_dsn": "x"}).postgres_dsn is not None
    for wrong in ({"store": "postgres"}, {"postgres_dsn": "x"}, {"store": "memory", "postgres_dsn": "x"}):
        with pytest.raises(ValidationError, match="state both or none"):
            RegistryConfig.model_validate(wrong)


def test_only_vector_backends_search_several_corpora_in_one_call():
    (card,) = FanfuseConfig.model_validate({"corpora": [corpus("a")]}).cards()

    assert {wiring.kind: wiring.shared for wiring in card.backends} == {
        Kind.VECTOR: True,
        Kind.KEYWORD: False,
        Kind.GRAPH: False,
    }


@pytest.mark.parametrize("role", ["", " ", "\t"])
def test_a_blank_role_is_no_role(role):
    with pytest.raises(ValidationError, match="readers"):
        FanfuseConfig.model_validate({"corpora": [corpus("a", card={"readers": [role]})]})
