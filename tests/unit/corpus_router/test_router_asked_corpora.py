"""Selection by what corpora can answer, and by what their cards say they cannot confirm."""

import pytest

from fanfuse_contracts.capability import Capability
from fanfuse_contracts.classification import AskedCapability
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import RejectionCode, Strategy, UnconfirmedReason
from fanfuse_contracts.plan import Rejection
from fanfuse_corpus_router.domain.selected import Selection
from fanfuse_corpus_router.domain.selection import select_corpora
from fanfuse_corpus_router.domain.visibility import by_id


def able(build, corpus, *names, **fields):
    answers = tuple(Capability(name=name, match_any=(name,)) for name in names)
    return build.card(corpus, can_answer=answers, **fields)


def said(build, corpus, score=0.0, *, asked=(), cannot=(), **rules):
    """The classifier's row for a corpus."""
    row = build.score(corpus, score, **rules)
    found = tuple(AskedCapability(capability=name, matched=(name,)) for name in asked)
    return row.model_copy(update={"asked": found, "cannot_confirm": tuple(cannot)})


@pytest.fixture
def select(build):
    def run(cards, scores=(), *, query=(), **routing):
        event = build.event(scores=tuple(scores), **dict(query))
        selection = select_corpora(by_id(cards), event, RoutingConfig(**routing))
        assert isinstance(selection, Selection), selection
        return selection

    return run


@pytest.fixture
def refuse(build):
    def run(cards, scores=(), *, query=(), **routing):
        event = build.event(scores=tuple(scores), **dict(query))
        rejection = select_corpora(by_id(cards), event, RoutingConfig(**routing))
        assert isinstance(rejection, Rejection), rejection
        return rejection

    return run


def chosen(selection):
    return selection.decision.selected_corpora


def unconfirmed(selection):
    assert all(row.reason is UnconfirmedReason.OUT_OF_SCOPE for row in selection.unconfirmed)
    return {row.corpus: row.message for row in selection.unconfirmed}


def test_an_asked_corpus_is_a_candidate_without_a_positive_score(select, build):
    cards = [build.card("a"), able(build, "b", "refund"), build.card("c")]
    selection = select(cards, (build.score("a", 2.0), said(build, "b", asked=("refund",)), build.score("c", -1.0)))
    assert selection.decision.strategy is Strategy.LEARNED
    assert chosen(selection) == ("a", "b")
    assert selection.decision.scores[1].reason.endswith("asked for refund")
    assert [[asked.capability for asked in corpus.asked] for corpus in selection.corpora] == [[], ["refund"]]


def test_an_asked_corpus_passes_the_threshold_and_comes_before_those_that_fail_it(select, build):
    cards = [build.card("a"), build.card("b"), able(build, "c", "refund")]
    scores = (build.score("a", 4.0), build.score("b", 3.0), said(build, "c", 1.0, asked=("refund",)))
    selection = select(cards, scores, score_threshold=0.5)
    assert chosen(selection) == ("a", "c")
    assert [row.corpus for row in selection.decision.scores] == ["a", "c", "b"]


def test_being_asked_changes_no_score_and_no_probability(select, build):
    cards = [build.card("a"), able(build, "b", "refund")]
    plain = select(cards, (build.score("a", 1.0), build.score("b", 0.5)))
    asked = select(cards, (build.score("a", 1.0), said(build, "b", 0.5, asked=("refund",))))
    assert [corpus.weight for corpus in plain.corpora] == [corpus.weight for corpus in asked.corpora]


def test_an_excluded_corpus_stays_excluded_however_much_it_is_asked(select, build):
    cards = [build.card("a"), able(build, "b", "refund")]
    assert chosen(select(cards, (said(build, "b", 5.0, asked=("refund",), exclude="no-b"),))) == ("a",)


def test_a_named_capability_restricts_the_selection_to_corpora_that_have_it(select, build):
    cards = [able(build, "a", "refund", "warranty"), able(build, "b", "refund"), able(build, "c", "warranty")]
    scores = (said(build, "a", asked=("refund", "warranty")), build.score("c", 9.0))
    selection = select(cards, scores, query={"capability": "refund"})
    assert chosen(selection) == ("a", "b")
    assert [row.corpus for row in selection.decision.scores] == ["a", "b"]
    assert "'refund'" in selection.decision.reason
    # It counts as asked, and is the only one that does.
    asked = [(corpus.card.corpus, [one.capability for one in corpus.asked]) for corpus in selection.corpora]
    assert asked == [("a", ["refund"]), ("b", ["refund"])]


def test_a_named_capability_counts_as_asked_for_the_threshold(select, build):
    cards = [able(build, "a", "refund"), able(build, "b", "refund"), build.card("c")]
    scores = (build.score("a", 5.0), build.score("b", -5.0))
    assert chosen(select(cards, scores, query={"capability": "refund"}, score_threshold=0.9)) == ("a", "b")


def test_a_capability_that_no_visible_corpus_has_is_unknown(refuse, build):
    rejection = refuse([build.card("a")], query={"capability": "refund"})
    assert (rejection.code, rejection.retryable) == (RejectionCode.UNKNOWN_CORPUS, False)
    assert "unknown capability 'refund'" in rejection.message


def test_a_capability_of_an_invisible_corpus_reads_like_one_that_does_not_exist(build):
    event = build.event(capability="refund")
    hidden = able(build, "board", "refund", public=False)
    assert build.refuse(event, build.card("a"), hidden) == build.refuse(event, build.card("a"))


def test_a_pin_is_restricted_too(select, refuse, build):
    cards = [able(build, "a", "refund"), build.card("b")]
    selection = select(cards, query={"capability": "refund", "corpora": ("a", "b")})
    assert chosen(selection) == ("a",)
    assert "cannot answer 'refund': b" in selection.decision.reason
    rejection = refuse(cards, query={"capability": "refund", "corpora": ("b",)})
    assert rejection.code is RejectionCode.UNKNOWN_CORPUS


def test_what_may_stand_in_must_have_the_named_capability(select, build):
    cards = [able(build, "a", "refund", fallbacks=("b", "c")), able(build, "b", "refund"), build.card("c")]
    selection = select(cards, (build.score("a", 1.0),), query={"capability": "refund"}, max_corpora=1)
    assert [card.corpus for card in selection.standby] == ["b"]


# What a card says it cannot confirm


def test_a_corpus_out_of_its_scope_is_left_out_and_named(select, build):
    scores = (said(build, "a", 5.0, cannot=("account balance",)), build.score("b", 1.0))
    selection = select([build.card("a"), build.card("b", fallbacks=("a",))], scores)
    assert chosen(selection) == ("b",)
    assert unconfirmed(selection) == {"a": "its card says that it cannot confirm 'account balance'"}
    row = next(row for row in selection.decision.scores if row.corpus == "a")
    assert (row.probability, row.selected, row.reason) == (0.0, False, unconfirmed(selection)["a"])
    assert selection.standby == ()


def test_one_that_would_not_have_been_selected_anyway_is_not_named(select, build):
    scores = (said(build, "a", -5.0, cannot=("balance",)), build.score("b", 1.0))
    assert unconfirmed(select([build.card("a"), build.card("b")], scores)) == {}


def test_one_that_a_rule_excludes_anyway_is_not_named(select, build):
    scores = (said(build, "a", 5.0, cannot=("balance",), exclude="no-a"), build.score("b", 1.0))
    selection = select([build.card("a"), build.card("b")], scores)
    assert unconfirmed(selection) == {}
    assert selection.decision.scores[-1].reason == "excluded by rule no-a"


def test_a_card_alone_does_not_make_the_strategy_a_static_rule(select, build):
    scores = (said(build, "a", 5.0, cannot=("balance",)),)
    selection = select([build.card("a"), build.card("b"), build.card("c")], scores)
    assert selection.decision.strategy is Strategy.ALL
    assert chosen(selection) == ("b", "c")


def test_where_no_source_can_confirm_the_query_is_refused_and_not_as_excluded(refuse, build):
    rejection = refuse([build.card("a")], (said(build, "a", 5.0, cannot=("balance",)),))
    assert (rejection.code, rejection.retryable) == (RejectionCode.UNCONFIRMED, False)
    assert "'balance'" in rejection.message


def test_the_last_resort_does_not_stand_in_for_a_source_that_cannot_confirm(refuse, build):
    cards = [build.card("a"), build.card("open")]
    rejection = refuse(cards, (said(build, "a", 5.0, cannot=("balance",)),), unconstrained_corpus="open")
    assert rejection.code is RejectionCode.UNCONFIRMED


def test_a_last_resort_that_cannot_confirm_is_not_used(refuse, build):
    rejection = refuse([build.card("open")], (said(build, "open", cannot=("x",)),), unconstrained_corpus="open")
    assert rejection.code is RejectionCode.NO_VISIBLE_CORPUS


def test_a_pinned_one_is_searched_and_named(select, build):
    scores = (said(build, "a", 5.0, cannot=("balance",)),)
    selection = select([build.card("a")], scores, query={"corpora": ("a",)})
    assert chosen(selection) == ("a",)
    assert unconfirmed(selection) == {"a": "its card says that it cannot confirm 'balance'"}
    assert selection.decision.scores[0].reason == "pinned; its card says that it cannot confirm 'balance'"
