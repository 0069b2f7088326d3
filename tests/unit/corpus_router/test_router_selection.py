"""Which corpora are searched: precedence of the strategies, threshold, floor and ceiling."""

import math

import pytest

from fanfuse_contracts import limits
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import RejectionCode, Strategy
from fanfuse_contracts.plan import Rejection
from fanfuse_corpus_router.domain.candidates import softmax
from fanfuse_corpus_router.domain.cutoff import MIN_LISTED, RUNNERS_UP
from fanfuse_corpus_router.domain.selected import Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.visibility import by_id


@pytest.fixture
def select(build):
    def run(scores=(), *, names="abc", pin=None, **routing):
        cards = [build.card(name) for name in names]
        selection = select_corpora(
            by_id(cards), build.event(scores=tuple(scores), corpora=pin), RoutingConfig(**routing)
        )
        assert isinstance(selection, Selection), selection
        return selection

    return run


def chosen(selection):
    return selection.decision.selected_corpora


def test_a_pin_beats_rules_and_scores(select, build):
    selection = select((build.score("a", 5.0, boost="r"), build.score("b", 0.0, exclude="x")), pin=("b",))
    assert selection.decision.strategy is Strategy.EXPLICIT
    assert chosen(selection) == ("b",)


def test_a_rule_beats_scores(select, build):
    selection = select((build.score("a", 5.0), build.score("b", 1.0, boost="r")))
    assert selection.decision.strategy is Strategy.STATIC_RULES
    assert chosen(selection) == ("a", "b")


def test_scores_that_differ_are_learned_from(select, build):
    selection = select((build.score("b", 2.0),))
    assert selection.decision.strategy is Strategy.LEARNED
    assert chosen(selection) == ("b",)


@pytest.mark.parametrize("scores", [(), (("a", 1.0), ("b", 1.0), ("c", 1.0))])
def test_where_nothing_tells_them_apart_all_are_searched(select, build, scores):
    selection = select(tuple(build.score(*row) for row in scores), score_threshold=0.9)
    assert selection.decision.strategy is Strategy.ALL
    assert chosen(selection) == ("a", "b", "c")


def test_an_exclusion_alone_leaves_all_the_others(select, build):
    selection = select((build.score("b", 7.0, exclude="no-b"),))
    assert selection.decision.strategy is Strategy.STATIC_RULES
    assert chosen(selection) == ("a", "c")
    excluded = next(row for row in selection.decision.scores if row.corpus == "b")
    assert (excluded.probability, excluded.selected, excluded.reason) == (0.0, False, "excluded by rule no-b")


def test_exclude_beats_boost_even_through_the_floor(select, build):
    selection = select((build.score("a", 9.0, boost="yes", exclude="no"),), min_corpora=3)
    assert chosen(selection) == ("b", "c")


def test_everything_excluded_is_refused(build):
    rejection = select_corpora(
        by_id([build.card("a")]), build.event(scores=(build.score("a", 1.0, exclude="shut"),)), RoutingConfig()
    )
    assert isinstance(rejection, Rejection)
    assert rejection.code is RejectionCode.ALL_EXCLUDED
    assert "shut" in rejection.message


def test_the_floor_keeps_the_best_when_none_passes(select, build):
    selection = select((build.score("a", -1.0), build.score("b", -2.0), build.score("c", -2.0)), min_corpora=2)
    assert chosen(selection) == ("a", "b")
    assert [row.reason for row in selection.decision.scores if row.selected] == [
        "kept by min_corpora 2 although its score is not positive"
    ] * 2


def test_the_ceiling_cuts_the_lowest(select, build):
    selection = select(
        tuple(build.score(name, score) for name, score in zip("abc", (1, 3, 2), strict=True)), max_corpora=2
    )
    assert chosen(selection) == ("b", "c")


def test_no_query_searches_more_corpora_than_the_contract_allows(select):
    names = [f"c{number:03}" for number in range(limits.MAX_CORPORA_PER_QUERY + 8)]
    selection = select(names=names)
    assert list(chosen(selection)) == names[: limits.MAX_CORPORA_PER_QUERY]
    assert selection.decision.scores[-1].reason == f"more than {limits.MAX_CORPORA_PER_QUERY} corpora"
    assert len(selection.decision.scores) == len(names)


@pytest.mark.parametrize(("max_corpora", "listed"), [(1, MIN_LISTED), (20, 20 + RUNNERS_UP)])
def test_a_decision_lists_a_bounded_number_of_candidates(select, max_corpora, listed):
    selection = select(names=[f"c{number:03}" for number in range(500)], max_corpora=max_corpora)
    assert len(selection.decision.scores) == listed
    assert selection.decision.candidate_n == 500


def test_a_decision_lists_excluded_corpora_however_many_others_there_are(select, build):
    scores = tuple(build.score(f"c{number:03}", 0.0, exclude="x") for number in range(100, 120))
    selection = select(scores, names=[f"c{number:03}" for number in range(200)])
    excluded = [row for row in selection.decision.scores if row.excluded_by]
    assert [row.corpus for row in excluded] == [f"c{number}" for number in range(100, 100 + RUNNERS_UP)]
    assert selection.decision.candidate_n == 200


def test_a_pin_with_repeats_counts_once(select):
    assert chosen(select(pin=("b", "b", "a"))) == ("a", "b")


def test_weights_are_the_share_of_the_selected_probability(select, build):
    selection = select((build.score("a", 1.0 + math.log(3)), build.score("b", 1.0)))
    assert [corpus.weight for corpus in selection.corpora] == pytest.approx([0.75, 0.25])


def test_a_single_corpus_weighs_exactly_one(select, build):
    assert [corpus.weight for corpus in select((build.score("c", 0.1),)).corpora] == [1.0]


def test_a_hopeless_pinned_corpus_still_counts_a_little(select, build):
    selection = select((build.score("a", 1e6),), pin=("a", "b"))
    assert [corpus.weight for corpus in selection.corpora] == [1.0, limits.MIN_CORPUS_WEIGHT]


@pytest.mark.parametrize("temperature", [5e-324, 1e-9, 1.0, 1e308])
def test_softmax_is_finite_for_any_finite_input(temperature):
    chances = softmax([-1.7e308, 0.0, 1.7e308, 1.7e308], temperature)
    assert all(math.isfinite(chance) and 0.0 <= chance <= 1.0 for chance in chances)
    assert math.fsum(chances) == pytest.approx(1.0)


@pytest.mark.parametrize("names", ["abc", "cba", "bca"])
def test_equal_scores_are_ordered_by_id_whatever_the_order_of_the_registry(select, build, names):
    scores = tuple(build.score(name, 1.0, boost="r") for name in names)
    assert chosen(select(scores, names=names, max_corpora=2)) == ("a", "b")
