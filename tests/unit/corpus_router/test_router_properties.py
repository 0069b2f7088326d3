"""What holds for every world: generated corpora, principals, filters, scores and health."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanfuse_contracts import limits
from fanfuse_contracts.classification import CorpusScore, Effect, FiredRule
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.corpus import FieldType
from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode
from fanfuse_contracts.filters import Op, digest, leaves
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import Principal
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.selected import Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.visibility import by_id

NAMES = ("a", "b", "c", "d")
ROLES = ("hr", "sales")
PROPERTY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

roles = st.frozensets(st.sampled_from(ROLES))
principals = st.none() | st.builds(Principal, id=st.sampled_from(("bob", " ")), roles=roles)
operators = st.frozensets(st.sampled_from((Op.EQ, Op.GTE, Op.CONTAINS, Op.IN)))
fields = st.dictionaries(st.sampled_from(("f", "g")), st.sampled_from(list(FieldType)))
conditions = st.recursive(
    st.one_of(
        st.fixed_dictionaries(
            {
                "field": st.sampled_from(("f", "g")),
                "op": st.sampled_from(("eq", "gte")),
                "value": st.sampled_from((1, 1.5, "x")),
            }
        ),
        st.fixed_dictionaries(
            {"field": st.sampled_from(("f", "g")), "op": st.just("contains"), "value": st.sampled_from(("x", "y"))}
        ),
        st.fixed_dictionaries(
            {"field": st.sampled_from(("f", "g")), "op": st.just("in"), "value": st.sampled_from(([1], ["x"], [True]))}
        ),
    ),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"and": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"or": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=3,
).filter(lambda condition: str(condition).count("{") <= 5)

scores = st.builds(
    lambda rows: tuple(
        CorpusScore(
            corpus=name,
            score=score,
            fired=tuple(FiredRule(rule=f"r-{effect.value}", effect=effect, amount=1.0) for effect in effects),
        )
        for name, (score, effects) in rows.items()
    ),
    st.dictionaries(
        st.sampled_from(NAMES),
        st.tuples(st.floats(-5, 5) | st.just(0.0), st.frozensets(st.sampled_from(list(Effect)))),
    ),
)
routings = st.builds(
    lambda low, more, threshold, temperature: RoutingConfig(
        min_corpora=low,
        max_corpora=low + more - 1 if more else 0,
        score_threshold=threshold,
        learned_temperature=temperature,
    ),
    st.integers(1, 5),
    st.integers(0, 3),
    st.floats(0, 1),
    st.floats(0.01, 10),
)


@st.composite
def worlds(draw, build):
    """Four corpora of one tenant and a namesake of another, each wired with some kinds."""
    cards = []
    for name in NAMES:
        kinds = draw(st.lists(st.sampled_from(list(Kind)), unique=True))
        cards.append(
            build.card(
                name,
                public=draw(st.booleans()),
                readers=draw(roles),
                fields=draw(fields),
                backends=tuple(build.wiring(kind, operators=draw(operators)) for kind in kinds),
            )
        )
    return [*cards, cards[0].model_copy(update={"tenant": "globex", "public": True})]


def readable(card, principal):
    """The rule, written a second time: no look at the code under test."""
    if card.tenant != "acme":
        return False
    stated = principal is not None and principal.id.strip() != ""
    return card.public or (stated and (len(card.readers) == 0 or len(card.readers & principal.roles) > 0))


ACCEPTS = {
    FieldType.STRING: ({"eq", "gte", "contains", "in"}, (str,)),
    FieldType.INTEGER: ({"eq", "gte", "in"}, (int,)),
    FieldType.FLOAT: ({"eq", "gte", "in"}, (int, float)),
    FieldType.BOOLEAN: ({"eq", "in"}, (bool,)),
    FieldType.STRINGS: ({"contains"}, (str,)),
}


def enforceable(card, wiring, condition):
    for leaf in leaves(condition):
        if leaf.field not in card.fields or leaf.op not in wiring.operators:
            return False
        ops, types = ACCEPTS[card.fields[leaf.field]]
        values = leaf.value if isinstance(leaf.value, tuple) else [leaf.value]
        if leaf.op.value not in ops or any(type(value) not in types for value in values):
            return False
    return True


def test_every_lane_that_may_be_searched_is_and_no_other(build):
    """TEN-02, TEN-06, exactly, without pins, capabilities and stand-ins (with them: test_router_enforcement)."""
    seen = {"combinations": 0, "lanes": 0, "refused": 0}

    @settings(PROPERTY, max_examples=100)
    @given(
        worlds(build),
        st.lists(principals, min_size=3, max_size=3),
        st.lists(st.none() | conditions, min_size=3, max_size=3),
        st.frozensets(st.sampled_from([(kind, "main") for kind in Kind]), max_size=1),
    )
    def check(cards, who, filters, unhealthy):
        for principal in who:
            for condition in filters:
                event = build.event(principal=principal, filter=condition)
                outcome = build.route(event, *cards, facts=BackendFacts(unhealthy=unhealthy))
                seen["combinations"] += len(NAMES)
                seen["refused"] += isinstance(outcome, Rejection)
                check_outcome(cards, event, unhealthy, outcome)
                seen["lanes"] += 0 if isinstance(outcome, Rejection) else len(outcome.plan.lanes)

    check()
    assert seen["combinations"] >= 2_000, seen
    assert seen["lanes"] > 200, seen
    assert seen["refused"] > 20, seen


def check_outcome(cards, event, unhealthy, outcome):
    by_name = {card.corpus: card for card in cards if readable(card, event.query.principal)}
    able = [
        (card.corpus, wiring.kind)
        for card in by_name.values()
        for wiring in card.backends
        if enforceable(card, wiring, event.query.filter)
    ]
    if isinstance(outcome, Rejection):
        wired = any(card.backends for card in by_name.values())
        if not by_name:
            assert outcome.code is RejectionCode.NO_VISIBLE_CORPUS
        elif wired and not able:
            assert outcome.code is RejectionCode.UNSUPPORTED_FILTER
        elif able:
            assert (outcome.code, outcome.retryable) == (RejectionCode.UNCONFIRMED, True)
            assert all((kind, "main") in unhealthy for _, kind in able)
        else:
            assert outcome.code is RejectionCode.NO_LANE
        return
    lanes = [(lane.corpus, lane.kind) for lane in outcome.plan.lanes]
    assert sorted(lanes) == sorted(row for row in able if (row[1], "main") not in unhealthy)
    assert {(row.corpus, row.kind) for row in outcome.plan.skipped if row.outcome is LaneOutcome.SKIPPED_FILTER} == {
        (card.corpus, wiring.kind) for card in by_name.values() for wiring in card.backends
    } - set(able)
    for command in outcome.commands:
        assert command.tenant == "acme"
        assert command.filter == event.query.filter
        assert command.filter_digest == digest("acme", command.corpus, event.query.filter)


@pytest.fixture(scope="module")
def four(build):
    return [build.card(name, kinds=("keyword",)) for name in NAMES]


@settings(PROPERTY, max_examples=200)
@given(scores=scores, routing=routings)
def test_exclude_beats_boost_and_floor_beats_threshold(build, four, scores, routing):
    selection = select_corpora(by_id(four), build.event(scores=scores), routing)
    excluded = {row.corpus for row in scores if any(rule.effect is Effect.EXCLUDE for rule in row.fired)}
    if excluded == set(NAMES):
        assert isinstance(selection, Rejection)
        assert selection.code is RejectionCode.ALL_EXCLUDED
        return
    assert isinstance(selection, Selection)
    chosen = selection.decision.selected_corpora
    assert not excluded & set(chosen)
    assert len(chosen) >= min(routing.min_corpora, len(NAMES) - len(excluded))
    assert len(chosen) <= (routing.max_corpora or limits.MAX_CORPORA_PER_QUERY)
    assert [row.corpus for row in selection.decision.scores if row.selected] == list(chosen)
    assert {
        row.corpus: row.probability for row in selection.decision.scores if row.corpus in excluded
    } == dict.fromkeys(excluded, 0.0)


def test_the_order_of_the_registry_and_of_scores_changes_no_byte(build):
    @settings(PROPERTY, max_examples=100)
    @given(worlds(build), scores, routings, principals, st.randoms(use_true_random=False))
    def check(cards, scores, routing, principal, chance: random.Random):
        first = build.route(build.event(scores=scores, principal=principal), *cards, routing=routing)
        shuffled = chance.sample(cards, len(cards))
        shuffled = [
            card.model_copy(update={"backends": tuple(chance.sample(card.backends, len(card.backends)))})
            for card in shuffled
        ]
        mixed = tuple(chance.sample(scores, len(scores)))
        second = build.route(build.event(scores=mixed, principal=principal), *shuffled, routing=routing)
        assert first == second
        if not isinstance(first, Rejection):
            assert first.plan.to_json() == second.plan.to_json()

    check()
