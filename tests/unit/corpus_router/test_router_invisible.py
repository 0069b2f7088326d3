"""TEN-06: what a principal may not read changes no byte of what it is told, whatever is generated around it."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanfuse_contracts.capability import Argument, Capability
from fanfuse_contracts.classification import AskedCapability, CorpusScore, Effect, FiredRule
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Kind, SourceKind
from fanfuse_contracts.query import Principal
from fanfuse_corpus_router.domain.facts import BackendFacts

SEEN, HIDDEN = ("a", "b", "c"), ("h", "z")
NAMES = (*SEEN, *HIDDEN)
BOB = Principal(id="bob", roles=frozenset({"sales"}))
REFUND = Capability(name="refund", match_any=("refund",), required=(Argument(name="order", field="lang"),))
SECRET = Capability(name="secret", match_any=("secret",))

rows = st.builds(
    lambda corpus, score, fired, asked, cannot: CorpusScore(
        corpus=corpus,
        score=score,
        fired=tuple(FiredRule(rule=f"r-{effect.value}", effect=effect) for effect in sorted(fired)),
        asked=tuple(AskedCapability(capability=name, matched=(name,)) for name in asked),
        cannot_confirm=cannot,
    ),
    st.sampled_from(NAMES),
    st.floats(-5, 5),
    st.frozensets(st.sampled_from(list(Effect))),
    st.sampled_from(((), ("refund",), ("secret",), ("refund", "secret"))),
    st.sampled_from(((), (), ("balance",))),
)
scores = st.lists(rows, unique_by=lambda row: row.corpus).map(tuple)
routings = st.builds(
    lambda strategy, held, fan_out: RoutingConfig(strategy=strategy, unconstrained_corpus=held, fan_out=fan_out),
    st.sampled_from(("explicit", "static_rules", "learned", "all")),
    st.sampled_from((None, "a", "h")),
    st.booleans(),
)
names = st.lists(st.sampled_from((*NAMES, "nowhere")), min_size=1, max_size=4, unique=True)
queries: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.sampled_from(({"capability": "refund"}, {"capability": "secret"})),
    names.map(lambda found: {"corpora": tuple(found)}),
    names.map(lambda found: {"decision": {"corpora": [{"corpus": name, "weight": 0.5} for name in found]}}),
)
lost = st.frozensets(st.tuples(st.sampled_from(list(Kind)), st.sampled_from(NAMES)), max_size=6)


@pytest.fixture(scope="module")
def cards(build):
    """Every corpus has backends of its own and names all the others as its fallbacks."""
    return [
        build.card(
            name,
            public=name == "a",
            readers=frozenset({"board"} if name in HIDDEN else {"sales"}),
            source=SourceKind.RECORD if name in "bz" else SourceKind.POLICY,
            can_answer=(SECRET,) if name in HIDDEN else (REFUND,),
            fallbacks=tuple(other for other in reversed(NAMES) if other != name),
            backends=tuple(build.wiring(kind, name, shared=True) for kind in Kind),
            freshness_s=1,
            indexed_at="2020-01-01T00:00:00+00:00",
        )
        for name in NAMES
    ]


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(scores=scores, routing=routings, query=queries, lost=lost)
def test_a_corpus_that_may_not_be_read_changes_nothing(build, cards, scores, routing, query, lost):
    event = build.event(scores=scores, principal=BOB, **query)
    facts = BackendFacts(unhealthy=lost)
    with_them = build.route(event, *cards, facts=facts, routing=routing)
    seen = [card for card in cards if card.corpus in SEEN]
    without_scores = tuple(row for row in scores if row.corpus in SEEN)
    bare = event.model_copy(update={"corpus_scores": without_scores})
    assert with_them == build.route(bare, *seen, facts=facts, routing=routing)
