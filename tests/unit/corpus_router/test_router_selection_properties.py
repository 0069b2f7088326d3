"""What holds for every selection: generated cards, scores, rules, capabilities, options, pins and earlier decisions."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanfuse_contracts import limits
from fanfuse_contracts.capability import Capability
from fanfuse_contracts.classification import AskedCapability, CorpusScore, Effect, FiredRule
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import RejectionCode, Strategy
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import StickyCorpus, StickyDecision
from fanfuse_contracts.weights import Weights
from fanfuse_corpus_router.domain.selected import Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.visibility import by_id

NAMES = ("a", "b", "c", "d")
HELD = "d"
PROPERTY = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])

rows = st.fixed_dictionaries(
    {
        "score": st.floats(-5, 5) | st.just(0.0),
        "fired": st.frozensets(st.sampled_from(list(Effect))).map(
            lambda effects: tuple(FiredRule(rule=f"r-{effect.value}", effect=effect) for effect in sorted(effects))
        ),
        "asked": st.sampled_from(((), (AskedCapability(capability="refund", matched=("refund",)),))),
        "cannot_confirm": st.sampled_from(((), (), ("balance",))),
    }
)
scores = st.dictionaries(st.sampled_from(NAMES), rows).map(
    lambda found: tuple(CorpusScore.model_validate({"corpus": corpus, **row}) for corpus, row in found.items())
)
options = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from(("explicit", "static_rules", "learned", "all")),
        "min_corpora": st.integers(1, 4),
        "max_corpora": st.just(0) | st.integers(4, 5),
        "max_cost": st.sampled_from((0.0, 0.5, 1.0, 2.0)),
        "score_threshold": st.floats(0, 1),
        "learned_temperature": st.floats(0.01, 10),
        "unconstrained_corpus": st.sampled_from((None, HELD, "nowhere")),
    }
).map(RoutingConfig.model_validate)
pins = st.lists(st.sampled_from((*NAMES, "e", "f")), min_size=1, max_size=6)
"""As a caller may write them: a name may stand twice."""
corpora = st.lists(st.sampled_from((*NAMES, "e", "f")), min_size=1, max_size=6, unique=True)
weights = st.none() | st.builds(Weights, vector=st.floats(0, 3), keyword=st.floats(0, 3), graph=st.floats(0, 3))
decisions = corpora.flatmap(
    lambda names: st.tuples(*(st.tuples(st.just(name), st.floats(0.001, 1), weights) for name in names))
).map(
    lambda found: StickyDecision(
        corpora=tuple(StickyCorpus(corpus=name, weight=weight, weights=kinds) for name, weight, kinds in found)
    )
)


@pytest.fixture(scope="module")
def cards(build):
    refund = Capability(name="refund", match_any=("refund",))
    return [
        build.card(
            name,
            cost=0.5,
            can_answer=(refund,) if name in "ab" else (),
            fallbacks=tuple(other for other in NAMES if other != name),
        )
        for name in NAMES
    ]


def excluded(scores):
    return {row.corpus for row in scores if any(rule.effect is Effect.EXCLUDE for rule in row.fired)}


def refusing(scores):
    return {row.corpus for row in scores if row.cannot_confirm}


@PROPERTY
@given(scores=scores, routing=options, capability=st.sampled_from((None, "refund")))
def test_without_a_pin_nothing_shut_is_selected_and_the_limits_hold(build, cards, scores, routing, capability):
    selection = select_corpora(by_id(cards), build.event(scores=scores, capability=capability), routing)
    shut = excluded(scores) | refusing(scores)
    open_to = {"a", "b"} if capability else set(NAMES)
    if isinstance(selection, Rejection):
        held = HELD if routing.unconstrained_corpus == HELD and HELD not in excluded(scores) else None
        assert routing.strategy is Strategy.EXPLICIT or open_to - {held} <= shut
        return
    chosen = selection.decision.selected_corpora
    assert not set(chosen) & shut
    assert set(chosen) <= open_to
    assert len(chosen) <= (routing.max_corpora or limits.MAX_CORPORA_PER_QUERY)
    assert [row.corpus for row in selection.decision.scores if row.selected] == list(chosen)
    assert [corpus.card.corpus for corpus in selection.corpora] == list(chosen)
    assert not {card.corpus for card in selection.standby} & (set(chosen) | shut)
    assert all(corpus.weight >= limits.MIN_CORPUS_WEIGHT for corpus in selection.corpora)
    if routing.max_cost:
        assert len(chosen) <= max(1, math.floor(routing.max_cost / 0.5))


@PROPERTY
@given(scores=scores, routing=options)
def test_a_held_back_corpus_is_searched_alone_and_only_for_want_of_another(build, cards, scores, routing):
    routing = routing.model_copy(update={"unconstrained_corpus": HELD})
    selection = select_corpora(by_id(cards), build.event(scores=scores), routing)
    others = set(NAMES) - {HELD} - excluded(scores)
    if isinstance(selection, Rejection):
        return
    if HELD in selection.decision.selected_corpora:
        assert selection.decision.strategy is Strategy.UNCONSTRAINED
        assert selection.decision.selected_corpora == (HELD,)
        assert routing.strategy is Strategy.EXPLICIT or not others
        assert HELD not in excluded(scores) | refusing(scores)
    else:
        assert HELD not in {card.corpus for card in selection.standby}
        assert selection.decision.strategy is not Strategy.UNCONSTRAINED


@PROPERTY
@given(scores=scores, routing=options)
def test_the_floor_beats_the_threshold(build, cards, scores, routing):
    routing = routing.model_copy(update={"max_cost": 0.0, "unconstrained_corpus": None, "strategy": Strategy.LEARNED})
    selection = select_corpora(by_id(cards), build.event(scores=scores), routing)
    allowed = set(NAMES) - excluded(scores) - refusing(scores)
    if not allowed:
        assert isinstance(selection, Rejection)
        only_rules = set(NAMES) <= excluded(scores)
        assert selection.code is (RejectionCode.ALL_EXCLUDED if only_rules else RejectionCode.UNCONFIRMED)
        return
    assert isinstance(selection, Selection)
    assert len(selection.corpora) >= min(routing.min_corpora, len(allowed))


@PROPERTY
@given(scores=scores, routing=options, names=pins, visible=st.frozensets(st.sampled_from(NAMES), min_size=1))
def test_a_pin_selects_exactly_what_is_pinned_and_visible(build, cards, scores, routing, names, visible):
    seen = [card for card in cards if card.corpus in visible]
    selection = select_corpora(by_id(seen), build.event(scores=scores, corpora=tuple(names)), routing)
    expected = set(names) & visible
    if not expected:
        assert isinstance(selection, Rejection)
        assert selection.code is RejectionCode.UNKNOWN_CORPUS
        return
    assert isinstance(selection, Selection)
    assert set(selection.decision.selected_corpora) == expected
    assert {row.corpus for row in selection.decision.scores} == expected
    assert all(repr(name) in selection.decision.reason for name in set(names) - visible)
    assert {row.corpus for row in selection.unconfirmed} == refusing(scores) & expected
    assert selection.standby == ()


@PROPERTY
@given(scores=scores, routing=options, decision=decisions, visible=st.frozensets(st.sampled_from(NAMES), min_size=1))
def test_an_earlier_decision_selects_exactly_its_visible_corpora_with_its_weights(
    build, cards, scores, routing, decision, visible
):
    seen = [card for card in cards if card.corpus in visible]
    selection = select_corpora(by_id(seen), build.event(scores=scores, decision=decision), routing)
    stay = {one.corpus: one for one in decision.corpora if one.corpus in visible}
    if not stay:
        assert isinstance(selection, Rejection)
        assert selection.code is RejectionCode.UNKNOWN_CORPUS
        return
    assert isinstance(selection, Selection)
    assert set(selection.decision.selected_corpora) == stay.keys()
    scale = max(1.0, math.fsum(one.weight for one in stay.values()))
    for corpus in selection.corpora:
        assert corpus.weight == pytest.approx(stay[corpus.card.corpus].weight / scale)
        assert corpus.kind_weights == stay[corpus.card.corpus].weights
    assert math.fsum(corpus.weight for corpus in selection.corpora) <= 1.0 + 1e-9


@PROPERTY
@given(
    scores=scores,
    routing=options,
    chance=st.randoms(use_true_random=False),
    query=st.one_of(
        st.just({}),
        st.just({"capability": "refund"}),
        corpora.map(lambda names: {"corpora": tuple(names)}),
        decisions.map(lambda decision: {"decision": decision}),
    ),
)
def test_the_order_of_registry_and_scores_changes_nothing(build, cards, scores, routing, chance, query):
    first = select_corpora(by_id(cards), build.event(scores=scores, **query), routing)
    mixed = tuple(chance.sample(scores, len(scores)))
    again = select_corpora(by_id(chance.sample(cards, len(cards))), build.event(scores=mixed, **query), routing)
    assert first == again
