"""Engines in the operators' file: each fits its kind, servers have an address, and no message repeats a secret."""

import pytest
from pydantic import ValidationError

from fanfuse_contracts.backends import BackendConfig, BackendsConfig, Engine
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.faults import FaultsError

SECRET = "hunter2"
QDRANT = {"engine": "qdrant", "url": "https://vectors.example:6333"}
NEO4J = {"engine": "neo4j", "url": "neo4j+s://graph.example"}
ELASTICSEARCH = {"engine": "elasticsearch", "url": "https://search.example:9200/es"}
OPENSEARCH = {"engine": "opensearch", "url": "http://localhost:9200"}


def faults(kind: str, **stated):
    with pytest.raises(ValidationError) as refused:
        FanfuseConfig.model_validate({"backends": {kind: {"eu": stated}}})
    assert SECRET not in str(refused.value)
    causes = [row["ctx"]["error"] for row in refused.value.errors()]
    assert all(isinstance(cause, FaultsError) for cause in causes)
    return {loc[-1]: message for cause in causes for loc, message in cause.faults}


@pytest.mark.parametrize(
    ("kind", "stated"),
    [
        ("vector", {**QDRANT, "api_key": SECRET}),
        ("keyword", {**ELASTICSEARCH, "username": "u", "password": SECRET, "ca_file": "ca.pem"}),
        ("keyword", {**ELASTICSEARCH, "api_key": SECRET}),
        ("keyword", {**OPENSEARCH, "namespace": "team-a", "connections": 4}),
        ("graph", {**NEO4J, "username": "u", "password": SECRET, "database": "docs"}),
        ("graph", {"engine": "embedded"}),
    ],
)
def test_what_is_sound_is_kept_and_masked(kind, stated):
    backends = FanfuseConfig.model_validate({"backends": {kind: {"eu": stated}}}).backends
    backend = backends.known(Kind(kind))["eu"]

    assert backend.engine.value == stated["engine"]
    assert backend.is_server is (stated["engine"] != "embedded")
    assert [name for _, name, _ in backends.servers()] == (["eu"] if backend.is_server else [])
    assert SECRET not in repr(backends) + backends.model_dump_json() + backends.to_json().decode()
    for name in ("password", "api_key"):
        kept = getattr(backend, name)
        assert (kept and kept.get_secret_value()) == stated.get(name)


@pytest.mark.parametrize(
    ("kind", "stated"),
    [
        ("vector", NEO4J),
        ("vector", OPENSEARCH),
        ("keyword", QDRANT),
        ("graph", ELASTICSEARCH),
    ],
)
def test_an_engine_of_another_kind_is_refused_with_those_that_fit(kind, stated):
    assert faults(kind, **stated)["engine"].startswith(f"{stated['engine']} is no {kind} engine: choose from embedded")


@pytest.mark.parametrize("engine", [engine.value for engine in Engine if engine is not Engine.EMBEDDED])
def test_a_server_has_an_address(engine):
    kind = next(kind for kind, stated in KINDS.items() if engine in stated)

    assert faults(kind, engine=engine)["url"] == f"is missing: engine {engine} is a server"


KINDS = {"vector": ("qdrant",), "keyword": ("elasticsearch", "opensearch"), "graph": ("neo4j",)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", f"http://{SECRET}@host:9200"),
        ("username", SECRET),
        ("password", SECRET),
        ("api_key", SECRET),
        ("ca_file", SECRET),
        ("namespace", SECRET),
        ("database", SECRET),
        ("connections", 3),
    ],
)
def test_the_embedded_engine_has_no_server(name, value):
    assert faults("keyword", **{name: value}) == {
        name: "belongs to an engine server: state its `engine` too, or leave this out"
    }
    default = BackendConfig.model_fields[name].default
    assert BackendConfig.model_validate({name: default}) == BackendConfig()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (SECRET, "is no address"),
        ("bolt://host", "is no address"),
        ("https://", "is no address"),
        (f"https://host:{SECRET}", "is no address"),
        ("https://host:99999", "is no address"),
        (f"https://host/#{SECRET}", "is no address"),
        (f"https://elastic:{SECRET}@host", "holds credentials"),
        (f"https://host/?key={SECRET}", "holds credentials"),
    ],
)
def test_an_address_is_one_and_holds_no_credentials(url, why):
    assert faults("keyword", **{**ELASTICSEARCH, "url": url})["url"].startswith(why)


@pytest.mark.parametrize(
    ("kind", "stated", "at", "why"),
    [
        ("keyword", {**ELASTICSEARCH, "username": SECRET}, "username", "belong together"),
        ("graph", {**NEO4J, "password": SECRET}, "username", "belong together"),
        ("keyword", {**OPENSEARCH, "api_key": SECRET}, "api_key", "opensearch takes none"),
        ("graph", {**NEO4J, "api_key": SECRET}, "api_key", "neo4j takes none"),
        ("vector", {**QDRANT, "username": "u", "password": SECRET, "api_key": "k"}, "api_key", "one way to log in"),
        (
            "keyword",
            {**ELASTICSEARCH, "username": "u", "password": SECRET, "api_key": SECRET},
            "api_key",
            "one way to log in",
        ),
        ("keyword", {**OPENSEARCH, "database": "docs"}, "database", "is Neo4j's"),
        ("keyword", {**OPENSEARCH, "ca_file": "ca.pem"}, "ca_file", "no effect on http://"),
        ("graph", {**NEO4J, "ca_file": "ca.pem"}, "ca_file", "goes with neo4j://"),
    ],
)
def test_a_login_is_one_that_the_engine_has(kind, stated, at, why):
    assert why in faults(kind, **stated)[at]


def test_a_corpus_is_wired_as_its_backend_says():
    config = FanfuseConfig.model_validate(
        {
            "backends": {"keyword": {"eu": {**OPENSEARCH, "pool": "p", "weight": 0.5}}},
            "corpora": [
                {"id": "a", "tenant_id": "t", "backends": ["keyword/eu", "vector/main"], "weights": {"keyword": 0.5}}
            ],
        }
    )
    keyword, vector = config.cards()[0].backends

    assert (keyword.backend, keyword.pool, keyword.weight, keyword.shared) == ("eu", "p", 0.25, False)
    assert (vector.backend, vector.pool, vector.weight, vector.shared) == ("main", "main", 1.0, True)
    assert BackendsConfig().wiring(Kind.GRAPH, "main").pool == "main"
