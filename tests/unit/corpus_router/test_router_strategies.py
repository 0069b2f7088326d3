"""What each configured strategy does, what the last resort is for, and what a selection may cost."""

import pytest

from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import RejectionCode, Strategy
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import StickyCorpus, StickyDecision
from fanfuse_corpus_router.domain.selected import Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.visibility import by_id


@pytest.fixture
def decide(build):
    """Select among the cards `a`, `b` and `c`, or those that are given."""

    def run(scores=(), *, cards=None, pin=None, sticky=None, **routing):
        event = build.event(scores=tuple(scores), corpora=pin, decision=sticky)
        return select_corpora(by_id(cards or [build.card(name) for name in "abc"]), event, RoutingConfig(**routing))

    return run


@pytest.fixture
def select(decide):
    def run(*args, **fields):
        selection = decide(*args, **fields)
        assert isinstance(selection, Selection), selection
        return selection

    return run


@pytest.fixture
def refuse(decide):
    def run(*args, **fields):
        rejection = decide(*args, **fields)
        assert isinstance(rejection, Rejection), rejection
        return rejection

    return run


def told(selection):
    decision = selection.decision
    return decision.configured, decision.strategy, decision.selected_corpora


def reasons(selection):
    return {row.corpus: row.reason for row in selection.decision.scores}


@pytest.mark.parametrize(
    ("configured", "fired", "expected", "selected"),
    [
        ("learned", True, Strategy.STATIC_RULES, ("b", "a")),
        ("learned", False, Strategy.LEARNED, ("b", "a")),
        ("static_rules", True, Strategy.STATIC_RULES, ("b", "a")),
        ("static_rules", False, Strategy.ALL, ("b", "a", "c")),
        ("all", True, Strategy.ALL, ("b", "a", "c")),
        ("all", False, Strategy.ALL, ("b", "a", "c")),
    ],
)
def test_the_configured_strategy_is_the_most_selective_one_that_is_used(
    select, build, configured, fired, expected, selected
):
    scores = (build.score("a", 1.0), build.score("b", 3.0, boost="r" if fired else None))
    assert told(select(scores, strategy=configured)) == (Strategy(configured), expected, selected)


def test_under_all_the_threshold_does_not_apply_and_the_ceiling_does(select, build):
    scores = (build.score("c", 9.0),)
    assert told(select(scores, strategy="all", score_threshold=0.9))[2] == ("c", "a", "b")
    assert told(select(scores, strategy="all", max_corpora=2))[2] == ("c", "a")


def test_under_all_scores_weigh(select, build):
    weights = [corpus.weight for corpus in select((build.score("c", 2.0),), strategy="all").corpora]
    assert weights[0] > weights[1] == weights[2]


def test_excludes_hold_under_all(select, build):
    assert told(select((build.score("b", 5.0, exclude="no-b"),), strategy="all"))[2] == ("a", "c")


def test_strategy_explicit_wants_a_pin(refuse):
    rejection = refuse(strategy="explicit")
    assert (rejection.code, rejection.retryable) == (RejectionCode.PIN_REQUIRED, False)


def test_strategy_explicit_takes_a_pin_or_an_earlier_decision(select):
    sticky = StickyDecision(corpora=(StickyCorpus(corpus="b"),))
    assert told(select(pin=("b",), strategy="explicit"))[1:] == (Strategy.EXPLICIT, ("b",))
    assert told(select(sticky=sticky, strategy="explicit"))[1:] == (Strategy.EXPLICIT, ("b",))


def test_a_pin_knows_no_ceiling_and_no_cost(select, build):
    cards = [build.card(name, cost=5.0) for name in "abc"]
    assert told(select(cards=cards, pin=("a", "b", "c"), max_corpora=1, max_cost=1.0))[2] == ("a", "b", "c")


def test_rules_are_named_in_the_decision(select, build):
    rows = select((build.score("a", 1.0, boost="yes"), build.score("b", 1.0, exclude="no"))).decision.scores
    assert {row.corpus: (row.boosted_by, row.excluded_by) for row in rows} == {
        "a": (("yes",), ()),
        "b": ((), ("no",)),
        "c": ((), ()),
    }


def test_only_named_fallbacks_stand_by_and_only_those_that_may_be_searched(select, build):
    cards = [build.card("a", fallbacks=("d", "c", "b", "e")), *(build.card(name) for name in "bcd"), build.card("x")]
    scores = (build.score("a", 5.0, boost="r"), build.score("c", -1.0), build.score("d", 0.0, exclude="no-d"))
    assert [card.corpus for card in select(scores, cards=cards).standby] == ["b", "c"]


# The last resort


HELD = {"unconstrained_corpus": "c"}


def test_a_held_back_corpus_is_no_ordinary_candidate(select, build):
    cards = [build.card(name, fallbacks=("c",) if name != "c" else ()) for name in "abc"]
    selection = select((build.score("c", 99.0, boost="r"),), cards=cards, min_corpora=3, **HELD)
    assert told(selection)[2] == ("a", "b")
    assert selection.standby == ()


def test_it_changes_no_probability(select, build):
    scores = (build.score("a", 1.0), build.score("c", 9.0))
    without = select(scores[:1], cards=[build.card(name) for name in "ab"])
    assert select(scores, **HELD).decision.scores == without.decision.scores


def test_it_can_be_pinned(select):
    assert told(select(pin=("c",), **HELD))[1:] == (Strategy.EXPLICIT, ("c",))


def test_it_is_searched_where_all_others_are_excluded(select, build):
    selection = select((build.score("a", 1.0, exclude="x"), build.score("b", 1.0, exclude="y")), **HELD)
    assert told(selection)[1:] == (Strategy.UNCONSTRAINED, ("c",))
    assert [corpus.weight for corpus in selection.corpora] == [1.0]
    assert "excluded" in selection.decision.reason
    assert reasons(selection) | {"c": ""} == {"a": "excluded by rule x", "b": "excluded by rule y", "c": ""}
    assert [(row.corpus, row.probability) for row in selection.decision.scores] == [("c", 1.0), ("a", 0.0), ("b", 0.0)]


def test_it_is_searched_where_no_other_is_visible(select, build):
    assert told(select(cards=[build.card("c")], **HELD))[1:] == (Strategy.UNCONSTRAINED, ("c",))


def test_it_is_searched_where_a_pin_is_required_and_missing(select):
    assert told(select(strategy="explicit", **HELD))[1:] == (Strategy.UNCONSTRAINED, ("c",))


def test_a_pin_of_unknown_corpora_stays_unknown(refuse):
    """TEN-06: the last resort never stands in for a name that may not be read."""
    assert refuse(pin=("hidden",), **HELD).code is RejectionCode.UNKNOWN_CORPUS


def test_an_earlier_decision_of_unknown_corpora_stays_unknown(refuse):
    sticky = StickyDecision(corpora=(StickyCorpus(corpus="hidden"),))
    assert refuse(sticky=sticky, **HELD).code is RejectionCode.UNKNOWN_CORPUS


@pytest.mark.parametrize(
    ("change", "scores"),
    [({"public": False}, ()), ({"corpus": "d"}, ()), ({}, (("c", "no-c"),))],
    ids=["not public", "another", "excluded"],
)
def test_one_that_is_not_public_or_excluded_or_absent_counts_as_not_configured(refuse, build, change, scores):
    cards = [build.card("a"), build.card("c").model_copy(update=change)]
    shut = (build.score("a", 0.0, exclude="x"), *(build.score(name, 0.0, exclude=rule) for name, rule in scores))
    if not scores:
        shut = (*shut, build.score(cards[1].corpus, 0.0, exclude="y"))
    assert refuse(shut, cards=cards, **HELD).code is RejectionCode.ALL_EXCLUDED


def test_one_that_is_not_public_is_an_ordinary_candidate(select, build):
    cards: list[CorpusCard] = [build.card("a"), build.card("c", public=False)]
    assert told(select(cards=cards, **HELD))[2] == ("a", "c")


# What a selection may cost


def priced(build, **costs):
    return [build.card(name, cost=cost) for name, cost in costs.items()]


def ranked(build, names):
    return tuple(build.score(name, float(9 - place)) for place, name in enumerate(names))


@pytest.mark.parametrize(
    ("max_cost", "selected"),
    [(0.0, "abc"), (0.5, "a"), (2.9, "a"), (3.0, "ab"), (5.9, "ab"), (6.0, "abc")],
)
def test_the_search_stops_before_it_costs_too_much(select, build, max_cost, selected):
    selection = select(ranked(build, "abc"), cards=priced(build, a=1.0, b=2.0, c=3.0), max_cost=max_cost)
    assert told(selection)[2] == tuple(selected)


def test_a_cheaper_one_never_takes_the_place_of_a_better_one(select, build):
    selection = select(ranked(build, "abc"), cards=priced(build, a=1.0, b=9.0, c=0.1), max_cost=3.0)
    assert told(selection)[2] == ("a",)
    assert reasons(selection)["b"] == reasons(selection)["c"] == "more than max_cost 3 allows"


def test_the_best_one_stays_whatever_it_costs(select, build):
    assert told(select(ranked(build, "a"), cards=priced(build, a=9.0), max_cost=1.0))[2] == ("a",)


def test_min_corpora_does_not_override_the_cost_and_the_reason_says_so(select, build):
    selection = select(ranked(build, "ab"), cards=priced(build, a=1.0, b=2.0), max_cost=1.0, min_corpora=2)
    assert told(selection)[2] == ("a",)
    assert reasons(selection)["b"] == "more than max_cost 1 allows, which min_corpora does not override"


def test_costs_that_fill_the_maximum_exactly_fit(select, build):
    selection = select(ranked(build, "abc"), cards=priced(build, a=0.1, b=0.2, c=0.0), max_cost=0.3)
    assert told(selection)[2] == ("a", "b", "c")
