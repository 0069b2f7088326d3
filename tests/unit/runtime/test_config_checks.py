"""Cross-checks: each fault alone in a sound file is the only finding, with its level and its line."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configfile import ConfigError, load_config, read_config
from fanfuse_runtime.configuration.checks import check
from fanfuse_runtime.configuration.findings import Level, show

KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"


def corpus(name: str, tenant: str = "t", **card: Any) -> dict[str, Any]:
    return {"id": name, "tenant_id": tenant, "card": card}


def findings(registry: dict[str, Any] | None = None, corpora=(), security=(), quorum=(), **routing: Any):
    written = {
        "registry": registry or {"store": "memory"},
        "retrieval": {"routing": routing, "quorum": dict(quorum)},
        "corpora": corpora or [corpus("a"), corpus("b")],
        "security": dict(security),
    }
    found = check(FanfuseConfig.model_validate(written))
    return [(finding.level, show(finding.path), finding.message) for finding in found]


def test_a_sound_configuration_has_no_finding():
    assert findings(rules=[{"name": "x", "corpora": ["a", "b"]}], max_corpora=2, score_threshold=0.3) == []
    assert list(check(FanfuseConfig())) == []


KV, MEMORY = {"store": "kv"}, {"store": "memory"}
RULE = "retrieval.routing.rules[0].corpora[1]"


@pytest.mark.parametrize(
    ("registry", "tenant", "level"),
    [(MEMORY, None, Level.ERROR), (KV, None, Level.WARNING), (MEMORY, "t", Level.ERROR), (MEMORY, "u", Level.ERROR)],
)
def test_a_rule_about_no_corpus(registry, tenant, level):
    corpora = [corpus("a"), corpus("a", "u"), corpus("other", "u" if tenant == "t" else "v")]
    rule = {"name": "x", "corpora": ["a", "missing" if tenant is None else "other"], "tenant": tenant}

    [(found, path, message)] = findings(registry, corpora, rules=[rule])
    assert (found, path) == (level, RULE)
    assert "rule 'x' names corpus" in message


@pytest.mark.parametrize(
    ("fallback", "said"),
    [
        (corpus("b", source="record"), "corpus 'b' holds another kind of truth: source record, not policy"),
        (corpus("b", "u", source="policy"), "`corpora` has no corpus 'b' of tenant 't', only of u"),
        (corpus("c", source="policy"), "`corpora` has no corpus 'b'"),
    ],
)
def test_a_fallback_that_can_never_stand_in(fallback, said):
    a = corpus("a", source="policy", fallbacks=["c", "b"] if fallback["id"] == "c" else ["b"])

    path = f"corpora[0].card.fallbacks[{len(a['card']['fallbacks']) - 1}]"
    assert findings(KV, [a, fallback]) == [(Level.ERROR, path, said)]
    assert findings(KV, [corpus("a", source="policy", fallbacks=["b"]), corpus("b", source="policy")]) == []


def test_scopes_that_nobody_has_and_that_nobody_knows():
    scopes = [{"name": "billing", "kind": "domain", "aliases": ["bill"]}]

    assert findings(scopes=scopes, corpora=[corpus("a", scopes=["billing"])]) == []
    assert findings(scopes=scopes, corpora=[corpus("a", scopes=["bills"])]) == [
        (Level.WARNING, "retrieval.routing.scopes[0].name", "no card in `corpora` has the scope 'billing'"),
        (
            Level.ERROR,
            "corpora[0].card.scopes",
            "scope 'bills' is not in retrieval.routing.scopes; known are: billing",
        ),
    ]


def test_a_word_that_names_two_scopes_of_one_kind():
    def scopes(kind: str):
        money = {"name": "money", "kind": "domain", "aliases": ["cash", "Bill"]}
        return [money, {"name": "paper", "kind": kind, "aliases": ["form", "bill"]}]

    corpora = [corpus("a", scopes=["money", "paper"])]
    assert findings(scopes=scopes("content"), corpora=corpora) == []
    [(level, path, message)] = findings(scopes=scopes("domain"), corpora=corpora)
    assert (level, path) == (Level.WARNING, "retrieval.routing.scopes[1].aliases[1]")
    assert "also names 'money'" in message


@pytest.mark.parametrize(("registry", "level"), [(MEMORY, Level.ERROR), (KV, Level.WARNING)])
def test_a_quorum_of_a_tenant_without_corpora(registry, level):
    corpora, quorum = [corpus("a", "acme"), corpus("b", "globex")], {"acme": {"graph": "may"}}
    assert findings(registry, corpora, quorum=quorum) == []
    [(found, path, message)] = findings(registry, corpora, quorum={"acmee": {"graph": "must"}})
    assert (found, path) == (level, "retrieval.quorum.acmee")
    assert "no corpus of tenant 'acmee', did you mean 'acme'?" in message
    [(_, _, message)] = findings(registry, corpora, quorum={"x": {}})
    assert "its tenants are: acme, globex" in message


def test_an_unconstrained_corpus_must_exist_and_be_public():
    where = "retrieval.routing.unconstrained_corpus"

    assert findings(unconstrained_corpus="a", corpora=[corpus("a", public=True)]) == []
    assert findings(KV, unconstrained_corpus="c") == [(Level.ERROR, where, "`corpora` has no corpus 'c'")]
    [(level, path, message)] = findings(
        unconstrained_corpus="a", corpora=[corpus("a", public=True), corpus("a", "u", readers=["x"])]
    )
    assert (level, path) == (Level.ERROR, "corpora[1].card.public")
    assert "of tenant 'u' is the unconstrained_corpus, and must be public" in message


def test_corpora_that_are_registered_elsewhere_are_not_judged():
    routing = {"unconstrained_corpus": "c", "fan_out": False}
    found = list(check(FanfuseConfig.model_validate({"registry": KV, "retrieval": {"routing": routing}})))

    assert [finding.level for finding in found] == [Level.WARNING, Level.WARNING]
    alone = list(check(FanfuseConfig.model_validate({"registry": MEMORY, "retrieval": {"routing": routing}})))
    assert [finding.level for finding in alone] == [Level.ERROR, Level.ERROR]


MODEL = {"model": "m", "dimensions": 3}


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ({}, {}, True),
        ({"backends": ["vector/main"]}, {"backends": ["keyword/main", "vector/main"]}, True),
        ({"embedder": MODEL}, {"embedder": MODEL}, True),
        ({"backends": ["keyword/main", "graph/main"]}, {}, False),
        ({"embedder": MODEL}, {"embedder": MODEL | {"model": "n"}}, False),
        ({"embedder": MODEL}, {}, False),
        ({"tenant_id": "u"}, {}, False),
        ({"weights": {"vector": 0.0}}, {}, False),
    ],
)
def test_fan_out_false_needs_two_corpora_that_can_share_a_lane(one, other, shared):
    found = findings(KV, [corpus("a") | one, corpus("b") | other], fan_out=False)

    assert [(level, path) for level, path, _ in found] == (
        [] if shared else [(Level.ERROR, "retrieval.routing.fan_out")]
    )
    assert findings(KV, [corpus("a") | one, corpus("b") | other], fan_out=True) == []


def test_fan_out_false_needs_more_than_one_corpus_per_query():
    [(level, path, message)] = findings(fan_out=False, max_corpora=1)

    assert (level, path) == (Level.ERROR, "retrieval.routing.fan_out")
    assert "max_corpora 1" in message


@pytest.mark.parametrize(
    ("options", "level", "key", "said"),
    [
        ({"min_corpora": 33}, Level.ERROR, "min_corpora", "33 can never be met: a query has at most 32 corpora"),
        ({"min_corpora": 3}, Level.WARNING, "min_corpora", "no tenant in `corpora` has more than 2"),
        ({"min_corpora": 2, "score_threshold": 0.51}, Level.ERROR, "score_threshold", "never be met by min_corpora 2"),
        ({"score_threshold": 1.0}, Level.WARNING, "score_threshold", "can never be met by one of several corpora"),
        ({"score_threshold": 0.5, "strategy": "all"}, Level.WARNING, "score_threshold", "under strategy all"),
        ({"score_threshold": 0.5, "strategy": "explicit"}, Level.WARNING, "score_threshold", "under strategy explicit"),
    ],
)  # fmt: skip
def test_bounds_that_can_never_be_met(options, level, key, said):
    [(found, path, message)] = findings(**options)

    assert (found, path) == (level, f"retrieval.routing.{key}")
    assert said in message


def test_a_cost_that_the_fewest_corpora_are_always_over():
    corpora = [corpus("a", cost=3.0), corpus("b", cost=2.0), corpus("c", cost=9.0), corpus("d", "u")]

    assert findings(corpora=corpora, min_corpora=2, max_cost=5.0) == []
    assert findings(corpora=corpora, max_cost=1.0) == []
    [(level, path, message)] = findings(corpora=corpora, min_corpora=2, max_cost=4.5)
    assert (level, path) == (Level.WARNING, "retrieval.routing.max_cost")
    assert message.startswith("min_corpora 2 is never met for tenant 't': its cheapest corpora cost 5 together")


def test_bounds_at_their_edge_are_sound():
    assert findings(min_corpora=2, score_threshold=0.5) == []


def test_an_argument_must_be_a_field_of_its_card():
    asked = {"name": "x", "match_any": ["x"], "required": [{"name": "id", "field": "order"}]}

    assert findings(corpora=[corpus("a", can_answer=[asked], fields={"order": "string"})]) == []
    assert findings(corpora=[corpus("a", can_answer=[asked], fields={"year": "integer"})]) == [
        (
            Level.ERROR,
            "corpora[0].card.can_answer[0].required[0].field",
            "'order' is no field of the card; its fields are: year",
        )
    ]


def test_equal_names_for_people():
    named = [corpus("a") | {"display_name": "A"}, corpus("b") | {"display_name": "A"}]
    found = findings(corpora=[*named, corpus("c", "u") | {"display_name": "A"}, corpus("d"), corpus("e")])

    assert [(level, path) for level, path, _ in found] == [
        (Level.WARNING, "corpora[0].display_name"),
        (Level.WARNING, "corpora[1].display_name"),
    ]


def test_signed_principals_without_a_key():
    keys = {"t": [{"kid": "k", "public_key": KEY}]}
    required = {"require_signed_principal": True, "principal_keys": keys}

    assert findings(security=required) == []
    assert findings(security={"require_signed_principal": False}) == []
    found = findings(security=required, corpora=[corpus("a"), corpus("b", "u")])
    assert [(level, path) for level, path, _ in found] == [(Level.WARNING, "security.principal_keys")]
    assert "tenant 'u'" in found[0][2]


def test_a_process_refuses_errors_with_the_same_text_and_passes_warnings(tmp_path: Path):
    file = tmp_path / "f.yaml"
    file.write_text(
        "registry: {store: memory}\n"
        "corpora:\n"
        "- {id: a, tenant_id: t, display_name: A}\n"
        "- {id: b, tenant_id: t, display_name: A}\n"
        "retrieval:\n"
        "  routing:\n"
        "    rules:\n"
        "    - {name: x, corpora: [a, c]}\n"
    )
    with pytest.raises(ConfigError) as refused:
        load_config(file, {})
    loaded = read_config(file, {})

    told = [str(finding) for finding in loaded.located(check(loaded.config))]
    assert told[2] == str(refused.value)
    assert told[2].startswith(f"{file}:8: retrieval.routing.rules[0].corpora[1]: rule 'x' names corpus 'c'")
    assert told[0].startswith(f"{file}:3: warning: corpora[0].display_name: ")
    file.write_text(file.read_text().replace("a, c", "a, b"))
    assert len(load_config(file, {}).corpora) == 2


def test_the_example_is_sound(repository: Path):
    file = repository / "examples/fanfuse.yaml"
    loaded = read_config(file, {})

    assert loaded.located(check(loaded.config)) == []
    assert len(load_config(file, {}).cards()) == len(yaml.safe_load(file.read_text())["corpora"])


@pytest.mark.parametrize(
    ("kind", "stated", "said"),
    [
        ("vector", {"engine": "qdrant", "url": "http://v.example", "api_key": "k"}, "api_key goes over the network"),
        (
            "graph",
            {"engine": "neo4j", "url": "neo4j://g.example", "username": "u", "password": "p"},
            "unencrypted: use neo4j+s://",
        ),
        ("graph", {"engine": "neo4j", "url": "bolt+s://g.example", "username": "u", "password": "p"}, None),
        (
            "graph",
            {"engine": "neo4j", "url": "bolt://g.example", "username": "u", "password": "p", "ca_file": "ca.pem"},
            None,
        ),
        ("vector", {"engine": "qdrant", "url": "http://localhost:6333", "api_key": "k"}, None),
        ("vector", {"engine": "qdrant", "url": "http://v.example"}, None),
    ],
)
def test_a_secret_on_an_open_network_is_warned_of(kind, stated, said):
    found = list(check(FanfuseConfig.model_validate({"backends": {kind: {"eu": stated}}})))

    assert [(finding.level, show(finding.path)) for finding in found] == (
        [(Level.WARNING, f"backends.{kind}.eu.url")] if said else []
    )
    assert all(said in finding.message for finding in found)


def counted(corpora, registry=KV, **sections):
    written = {"registry": registry, "corpora": corpora} | sections
    return [(one.level, show(one.path), one.message) for one in check(FanfuseConfig.model_validate(written))]


@pytest.mark.parametrize("registry", [KV, MEMORY])
def test_names_that_nothing_is_counted_under_are_told(registry):
    """They change no answer, and the registry may know them: a process starts with them."""
    found = counted(
        [corpus("faq", "acme"), corpus("docs", "globex")],
        registry,
        metrics={"corpora": ["acme/faq", "acme/fqa", "acme/docs"], "tenant_classes": {"paying": ["acme", "globx"]}},
        pressure={"tenants": {"acme": 3, "umbrella": 5}},
    )
    assert found == [
        (Level.WARNING, "metrics.corpora[1]", "`corpora` has no 'acme/fqa', did you mean 'acme/faq'?"),
        (Level.WARNING, "metrics.corpora[2]", "`corpora` has no 'acme/docs', did you mean 'globex/docs'?"),
        (
            Level.WARNING,
            "metrics.tenant_classes.paying[1]",
            "`corpora` has no corpus of tenant 'globx', did you mean 'globex'?",
        ),
        (
            Level.WARNING,
            "pressure.tenants.umbrella",
            "`corpora` has no corpus of tenant 'umbrella'; its tenants are: acme, globex",
        ),
    ]


def test_without_corpora_in_the_file_the_registry_alone_knows_the_names():
    metrics = {"corpora": ["acme/faq"], "tenant_classes": {"paying": ["acme"]}}
    assert counted([], metrics=metrics, pressure={"tenants": {"acme": 3}}) == []
