"""CFG-04: every key of the operators' file changes what is decided, kept or told, or it would not exist.

Each key is stated with another value in one small world, and one query is decided without a bus; what must differ is
the reply, unless the case says where else to look. Keys whose effect needs more than that are named with their test.
"""

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from fanfuse_all_in_one.configuration_docs import shown
from fanfuse_all_in_one.offline import OfflineRouter
from fanfuse_backend_workers.adapters.engines import settings_of
from fanfuse_cli.corpora import corpus_table
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.ranked import RankedList
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.configuration.checks import check
from fanfuse_runtime.configuration.findings import KeyPath
from fanfuse_runtime.configuration.keys import ANY_NAME, leaves
from fanfuse_runtime.stores import build_store

NOW = 1_000_000_000.0
INDEXED_AT = "2001-09-09T01:45:00+00:00"
"""100 seconds before."""

World = Mapping[KeyPath, Any]
"""Values by the path of their key."""

WORLD: dict[str, Any] = {
    "backends": {kind.value: {"main": {}} for kind in Kind},
    "retrieval": {
        "routing": {
            "rules": [{"name": "trips", "corpora": ["policies"], "match_any": ["trip"]}],
            "scopes": [{"name": "money", "kind": "domain", "aliases": ["cash"]}],
        }
    },
    "corpora": [
        {
            "id": "policies",
            "tenant_id": "t",
            "card": {
                "public": True,
                "source": "policy",
                "scopes": ["money"],
                "fields": {"lang": "string"},
                "can_answer": [
                    {
                        "name": "refund-rules",
                        "match_any": ["refund"],
                        "required": [{"name": "country", "pattern": "in [A-Z][a-z]+", "field": "lang"}],
                    }
                ],
                "cannot_confirm": [{"name": "the weather", "match_any": ["rain"]}],
            },
            "term_weights": {"travel": 2.0},
            "embedder": {"model": "m", "dimensions": 2},
        },
        {"id": "guides", "tenant_id": "t", "card": {"public": True}, "term_weights": {"travel": 1.0}},
        {"id": "news", "tenant_id": "t", "card": {"public": True, "cost": 1.0}},
    ],
}


def decided(config: FanfuseConfig, case: "Case") -> object:
    cards = [card.model_copy(update={"indexed_at": INDEXED_AT}) for card in config.cards()]
    query = SubmittedQuery.model_validate({"text": case.text, **case.query})
    return OfflineRouter(config, cards).decide("t", query, failed=case.failed, now_s=NOW)


def listed(config: FanfuseConfig, _case: "Case") -> object:
    return [list(column.cells) for column in corpus_table(list(config.cards())).columns]


def kept(config: FanfuseConfig, _case: "Case") -> object:
    return type(build_store(config, cast(Bus, None), Path()))


def checked(config: FanfuseConfig, _case: "Case") -> object:
    return list(check(config))


def reached(config: FanfuseConfig, _case: "Case") -> object:
    servers = [(f"{kind.value}.{name}", stated) for kind, name, stated in config.backends.servers()]
    return [(where, stated.engine, settings_of(where, stated)) for where, stated in servers]


def ordered(config: FanfuseConfig, _case: "Case") -> object:
    """Copies, a heavy list of twelve and a light lane, fused and told."""
    lanes = [(f"c{number:02}", 30.0 - number**2 / 9, 3.0) for number in range(12)], [("x", 9.0, 0.1), ("y", 8.0, 0.1)]
    lists = [
        RankedList(
            Lane(
                name=name,
                corpus=name,
                kind=Kind.KEYWORD,
                backend="main",
                pool="main",
                weight=found[0][2],
                window=100,
                filter_digest="",
            ),
            [
                LaneHit(chunk_id=key, rank=rank, score=score, content_hash="h" if key in {"c03", "y"} else key)
                for rank, (key, score, _) in enumerate(found, 1)
            ],
        )
        for name, found in zip(("heavy", "light"), lanes, strict=True)
    ]
    fused = fuse(lists, config.retrieval.fusion)
    return [(row.chunk_id, row.score, row.reserved_by, len(row.copies)) for row in fused]


@dataclass(frozen=True)
class Case:
    """Another value of a key, and what to ask."""

    value: Any
    text: str = "travel"
    query: Mapping[str, Any] = field(default_factory=dict)
    failed: tuple[Kind, ...] = ()
    world: World = field(default_factory=dict)
    """What else the world needs, under both values."""
    look: Callable[[FanfuseConfig, "Case"], object] = decided


SERVERS: dict[Kind, dict[str, str]] = {
    Kind.VECTOR: {"engine": "qdrant", "url": "https://a"},
    Kind.KEYWORD: {"engine": "elasticsearch", "url": "https://a"},
    Kind.GRAPH: {"engine": "neo4j", "url": "bolt://a"},
}
USER = {"username": "u", "password": "p"}
OF_KIND: dict[Kind, dict[str, tuple[Any, dict[str, str]]]] = {
    Kind.VECTOR: {"api_key": ("k", {}), "username": ("v", USER), "password": ("q", USER)},
    Kind.KEYWORD: {"api_key": ("k", {}), "username": ("v", USER), "password": ("q", USER)},
    Kind.GRAPH: {"username": ("v", USER), "password": ("q", USER), "database": ("other", {})},
}
"""Keys that not every server has: another value, and what must stand beside it."""


def server(kind: Kind) -> dict[str, Case]:
    """Keys of a server: what its client is made with."""
    stated = SERVERS[kind]
    cases: dict[str, tuple[Any, dict[str, str]]] = {
        "url": (f"{stated['url']}b", {}),
        "namespace": ("other", {}),
        "connections": (4, {}),
        "ca_file": (__file__, {}),
        **OF_KIND[kind],
    }
    keys = {
        name: Case(value, world=_stated(kind, {**stated, **more}), look=reached)
        for name, (value, more) in cases.items()
    }
    return {f"backends.{kind.value}.<name>.{name}": case for name, case in keys.items()}


def _stated(kind: Kind, values: Mapping[str, str]) -> World:
    return {("backends", kind.value, "main", name): value for name, value in values.items()}


def backend(kind: Kind) -> dict[str, Case]:
    return {
        **server(kind),
        f"backends.{kind.value}.<name>.pool": Case("other", query={"graph_seeds": ["x"]}),
        f"backends.{kind.value}.<name>.weight": Case(0.5, query={"graph_seeds": ["x"]}),
        f"backends.{kind.value}.<name>.operators": Case(
            ["ne"], query={"graph_seeds": ["x"], "filter": {"field": "lang", "op": "eq", "value": "de"}}
        ),
    }


ROUTING: KeyPath = ("retrieval", "routing")
CARD: KeyPath = ("corpora", 0, "card")
ASKED: KeyPath = (*CARD, "can_answer", 0)
ANSWERABLE: World = {(*ASKED, "required"): []}
REFUNDS_ELSEWHERE: World = {("corpora", 1, "card", "can_answer"): [{"name": "refund", "match_any": ["refund"]}]}
VECTOR = {"vector": {"model": "m", "values": [1, 0]}}
NOT_LOCAL: World = {("corpora", 0, "embedder", "local"): False}
ONLY_VECTORS: World = {
    (*ROUTING, "max_corpora"): 1,
    (*CARD, "source"): "reference",
    ("corpora", 0, "backends"): ["vector/main"],
    ("corpora", 1, "backends"): ["keyword/main"],
}

MONEY_AND_NOTES = [
    {"name": "money", "kind": "domain", "aliases": ["bill"]},
    {"name": "notes", "kind": "content", "aliases": ["bill"]},
]

EFFECTS: dict[str, Case] = {
    "registry.store": Case("memory", look=kept),
    **backend(Kind.VECTOR),
    **backend(Kind.KEYWORD),
    **backend(Kind.GRAPH),
    "retrieval.routing.strategy": Case("all"),
    "retrieval.routing.rules[].name": Case("journeys", "trip"),
    "retrieval.routing.rules[].corpora": Case(["news"], "trip"),
    "retrieval.routing.rules[].effect": Case("exclude", "trip"),
    "retrieval.routing.rules[].boost": Case(3.0, "trip"),
    "retrieval.routing.rules[].tenant": Case("u", "trip"),
    "retrieval.routing.rules[].match_any": Case(["journey"], "trip"),
    "retrieval.routing.rules[].match_regex": Case("jour?ney", "journey"),
    "retrieval.routing.scopes[].name": Case("finance", "cash", world={(*CARD, "scopes"): ["money", "finance"]}),
    "retrieval.routing.scopes[].kind": Case("content", world={(*ROUTING, "scopes"): MONEY_AND_NOTES}, look=checked),
    "retrieval.routing.scopes[].aliases": Case(["coins"], "cash"),
    "retrieval.routing.scopes[].boost": Case(3.0, "cash"),
    "retrieval.routing.fan_out": Case(False, world={("corpora", 1, "embedder"): {"model": "m", "dimensions": 2}}),
    "retrieval.routing.min_corpora": Case(3),
    "retrieval.routing.max_corpora": Case(1),
    "retrieval.routing.max_cost": Case(0.5, world={(*ROUTING, "strategy"): "all"}),
    "retrieval.routing.score_threshold": Case(0.5),
    "retrieval.routing.learned_temperature": Case(5.0),
    "retrieval.routing.unconstrained_corpus": Case("policies"),
    "retrieval.fusion.policy": Case("rrf", look=ordered),
    "retrieval.fusion.k": Case(20, world={("retrieval", "fusion", "policy"): "rrf"}, look=ordered),
    "retrieval.fusion.reserved_seats": Case(0, look=ordered),
    "retrieval.fusion.collapse": Case(False, look=ordered),
    "corpora[].id": Case("rules", world={(*ROUTING, "rules"): []}),
    "corpora[].tenant_id": Case("u"),
    "corpora[].display_name": Case("Policies", look=listed),
    "corpora[].description": Case("What is allowed", look=listed),
    "corpora[].card.source": Case("record", "refund", world=ANSWERABLE),
    "corpora[].card.can_answer[].name": Case("returns", "refund", world=ANSWERABLE),
    "corpora[].card.can_answer[].description": Case("When", "refund", world={**ANSWERABLE, **REFUNDS_ELSEWHERE}),
    "corpora[].card.can_answer[].match_any": Case(["money back"], "refund"),
    "corpora[].card.can_answer[].required[].name": Case("land", "refund"),
    "corpora[].card.can_answer[].required[].description": Case("Where it was bought", "refund"),
    "corpora[].card.can_answer[].required[].field": Case(
        "land", "refund", {"filter": {"field": "lang", "op": "eq", "value": "de"}}
    ),
    "corpora[].card.can_answer[].required[].pattern": Case("to [A-Z]+", "refund in France"),
    "corpora[].card.cannot_confirm[].name": Case("rain", "rain", {"corpora": ["policies"]}),
    "corpora[].card.cannot_confirm[].match_any": Case(["snow"], "rain", {"corpora": ["policies"]}),
    "corpora[].card.fields": Case({}, query={"filter": {"field": "lang", "op": "eq", "value": "de"}}),
    "corpora[].card.freshness_s": Case(60),
    "corpora[].card.fallbacks": Case(["guides"], failed=(Kind.VECTOR,), world=ONLY_VECTORS),
    "corpora[].card.cost": Case(9.0, world={(*ROUTING, "max_cost"): 2.0}),
    "corpora[].card.scopes": Case([], "cash"),
    "corpora[].card.public": Case(False),
    "corpora[].card.readers": Case(["staff"], query={"principal": {"id": "alice"}}, world={(*CARD, "public"): False}),
    "corpora[].term_weights": Case({}),
    "corpora[].backends": Case(["keyword/main"]),
    "corpora[].weights.vector": Case(0.5),
    "corpora[].weights.keyword": Case(0.5),
    "corpora[].weights.graph": Case(0.5, query={"graph_seeds": ["x"]}),
    "corpora[].quorum.vector": Case("may", query=VECTOR),
    "corpora[].quorum.keyword": Case("must"),
    "corpora[].quorum.graph": Case("may", query={"graph_seeds": ["x"]}),
    "corpora[].quorum.backends": Case({"keyword/main": "must"}),
    "corpora[].embedder.model": Case("n", query=VECTOR, world=NOT_LOCAL),
    "corpora[].embedder.dimensions": Case(3, query=VECTOR, world=NOT_LOCAL),
    "corpora[].embedder.languages": Case(["de"], "the travel of the people and where they are going to"),
    "corpora[].embedder.local": Case(False),
}

ELSEWHERE: dict[str, str] = {
    "corpora[].embedder.endpoint": "backends/test_http_embedder_queries.py",
    "corpora[].embedder.query_prefix": "backends/test_http_embedder_queries.py",
    "corpora[].embedder.document_prefix": "backends/test_http_embedder.py",
    "registry.postgres_dsn": "backends/test_postgres_store.py",
    **{f"backends.{kind.value}.<name>.engine": "contract/test_backend_config.py" for kind in Kind},
    "backends.vector.<name>.database": "contract/test_backend_config.py",
    "backends.keyword.<name>.database": "contract/test_backend_config.py",
    "backends.graph.<name>.api_key": "contract/test_backend_config.py",
    "retrieval.routing.profile": "unit/all_in_one/test_config_profile.py",
    "retrieval.probe_on_decide": "bus/corpus_router/test_router_probes.py",
    **{f"retrieval.quorum.<name>.{kind.value}": "unit/corpus_router/test_router_quorum.py" for kind in Kind},
    "metrics.corpora": "unit/runtime/test_metrics.py",
    "metrics.tenant_classes": "unit/runtime/test_metrics.py",
    "pressure.tenant_in_flight": "bus/classifier/test_tenant_ceiling.py",
    "pressure.tenants": "bus/classifier/test_tenant_ceiling.py",
    "security.require_signed_principal": "unit/classifier/test_principals.py",
    "security.principal_keys.<name>[].kid": "unit/classifier/test_principals.py",
    "security.principal_keys.<name>[].public_key": "unit/classifier/test_principals.py",
}
"""Key: a test that states it."""


def config_of(*stated: World) -> FanfuseConfig:
    world: Any = copy.deepcopy(WORLD)
    for path, value in (item for part in stated for item in part.items()):
        place = world
        for part in path[:-1]:
            place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
        place[path[-1]] = value
    return FanfuseConfig.model_validate(world)


def test_every_key_has_a_test_of_its_effect():
    known = {shown(leaf.path) for leaf in leaves()}

    assert known == EFFECTS.keys() | ELSEWHERE.keys()
    assert not EFFECTS.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize(
    "leaf", [leaf for leaf in leaves() if shown(leaf.path) in EFFECTS], ids=lambda leaf: shown(leaf.path)
)
def test_a_key_has_an_effect(leaf):
    case = EFFECTS[shown(leaf.path)]
    path = tuple("main" if part == ANY_NAME else part for part in leaf.path)
    before, after = config_of(case.world), config_of(case.world, {path: case.value})

    assert before != after
    assert case.look(before, case) != case.look(after, case)
    assert case.look(before, case) == case.look(before, case)


@pytest.mark.parametrize("key", ELSEWHERE)
def test_what_is_tested_elsewhere_is_stated_there(repository, key):
    tree = ast.parse((repository / "tests" / ELSEWHERE[key]).read_text(encoding="utf-8"))
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    words |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    words |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    assert key.rpartition(".")[2] in words
