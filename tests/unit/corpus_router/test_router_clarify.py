"""A query that could mean different things, or lacks what it needs, is asked back before any call."""

import pytest

from fanfuse_contracts import limits
from fanfuse_contracts.classification import CorpusScore
from fanfuse_contracts.enums import Kind, SourceKind
from fanfuse_corpus_router.domain.clarify import MAX_ROWS
from fanfuse_corpus_router.domain.facts import BackendFacts


def leaf(field, op, value):
    return {"field": field, "op": op, "value": value}


@pytest.fixture
def rules(build):
    """What the rules are."""
    return build.card("rules", source=SourceKind.POLICY, can_answer=(build.capability("leave"),))


@pytest.fixture
def records(build):
    """What is the case, for one person."""
    able = (build.capability("balance", person="lang"),)
    return build.card("records", source=SourceKind.RECORD, can_answer=able)


@pytest.fixture
def both(build):
    return (build.asks("rules", "leave"), build.asks("records", "balance"))


def test_capabilities_of_different_kinds_of_source_are_asked_back(build, rules, records, both):
    asked = build.ask_back(build.event(scores=both), rules, records)
    assert [(one.corpus, one.capability, one.source) for one in asked.options] == [
        ("records", "balance", SourceKind.RECORD),
        ("rules", "leave", SourceKind.POLICY),
    ]
    assert asked.options[1].description == "what leave is"
    assert asked.missing == ()
    assert "'balance' (record 'records')" in asked.message
    assert "`capability`" in asked.message


def test_the_reply_names_a_capability_and_is_searched_there_and_nowhere_else(build, rules, records, both):
    plan = build.plan(build.event(scores=both, capability="leave"), rules, records)
    assert plan.corpus_decision.selected_corpora == ("rules",)
    assert [decision.asked for decision in plan.decisions] == [("leave",)]


def test_a_reply_may_still_lack_an_argument(build, rules, records, both):
    asked = build.ask_back(build.event(scores=both, capability="balance"), rules, records)
    assert asked.options == ()
    assert [(row.corpus, row.capability, row.argument, row.field) for row in asked.missing] == [
        ("records", "balance", "person", "lang")
    ]
    assert "filter on field 'lang'" in asked.message


@pytest.mark.parametrize(
    "chosen",
    [{"corpora": ("rules", "records")}, {"decision": {"corpora": [{"corpus": "rules"}, {"corpus": "records"}]}}],
)
def test_a_pin_or_an_earlier_decision_has_chosen_its_sources(build, rules, records, both, chosen):
    plan = build.plan(build.event(scores=both, filter=leaf("lang", "eq", "bob"), **chosen), rules, records)
    assert set(plan.corpus_decision.selected_corpora) == {"rules", "records"}


def test_a_pin_does_not_give_what_is_missing_and_another_kind_does_not_answer_in_its_place(build, rules, records, both):
    asked = build.ask_back(build.event(scores=both, corpora=("rules", "records")), rules, records)
    assert [(row.corpus, row.argument) for row in asked.missing] == [("records", "person")]


def test_several_capabilities_of_one_kind_are_all_searched(build, rules):
    more = build.card("handbook", source=SourceKind.POLICY, can_answer=(build.capability("holidays"),))
    plan = build.plan(
        build.event(scores=(build.asks("rules", "leave"), build.asks("handbook", "holidays"))), rules, more
    )
    assert {decision.corpus: decision.asked for decision in plan.decisions} == {
        "rules": ("leave",),
        "handbook": ("holidays",),
    }


def test_a_source_of_another_kind_that_is_not_asked_is_no_ambiguity(build, records):
    event = build.event(
        scores=(build.asks("records", "balance"), build.score("docs", 9.0)), filter=leaf("lang", "eq", "bob")
    )
    plan = build.plan(event, records, build.card("docs"))
    assert plan.corpus_decision.selected_corpora == ("docs", "records")


def test_only_selected_corpora_make_a_query_ambiguous(build, rules, records, both):
    event = build.event(scores=(both[0], build.asks("records", "balance", score=0.5)))
    routing = build.routing(max_corpora=1)
    assert build.plan(event, rules, records, routing=routing).corpus_decision.selected_corpora == ("rules",)


def test_an_invisible_corpus_is_neither_an_option_nor_an_ambiguity(build, rules, records, both):
    hidden = records.model_copy(update={"public": False})
    assert build.route(build.event(scores=both), rules, hidden) == build.route(build.event(scores=both), rules)


def test_nothing_is_asked_back_of_a_capability_that_the_card_does_not_have(build, records):
    plan = build.plan(build.event(scores=(build.asks("records", "of-an-older-card"),)), records)
    assert plan.corpus_decision.selected_corpora == ("records",)
    assert plan.decisions[0].asked == ()


@pytest.mark.parametrize(
    ("condition", "given"),
    [
        (leaf("lang", "eq", "bob"), True),
        (leaf("lang", "in", ["bob", "eve"]), True),
        ({"and": [leaf("year", "gte", 2020), leaf("lang", "eq", "bob")]}, True),
        ({"and": [leaf("year", "gte", 2020), {"and": [leaf("lang", "in", ["bob"])]}]}, True),
        (None, False),
        (leaf("year", "eq", 2020), False),
        (leaf("lang", "ne", "bob"), False),
        (leaf("lang", "gte", "bob"), False),
        (leaf("lang", "exists", True), False),
        (leaf("lang", "contains", "bob"), False),
        (leaf("lang", "not_in", ["bob"]), False),
        ({"not": leaf("lang", "eq", "bob")}, False),
        ({"or": [leaf("lang", "eq", "bob"), leaf("year", "eq", 1)]}, False),
        ({"or": [leaf("lang", "eq", "bob")]}, False),
        ({"not": {"not": leaf("lang", "eq", "bob")}}, False),
        ({"and": [{"or": [leaf("lang", "eq", "bob")]}, {"not": leaf("lang", "in", ["eve"])}]}, False),
    ],
)
def test_only_a_filter_that_fixes_the_field_gives_an_argument(build, records, condition, given):
    event = build.event(scores=(build.asks("records", "balance"),), filter=condition)
    if given:
        assert build.plan(event, records).lanes
    else:
        assert [row.argument for row in build.ask_back(event, records).missing] == ["person"]


@pytest.mark.parametrize(("found", "given"), [(("ticket",), True), ((), False), (("other",), False)])
def test_an_argument_is_given_by_its_pattern_in_the_text(build, found, given):
    card = build.card(
        "tickets", source=SourceKind.RECORD, can_answer=(build.capability("state", ticket="re:T-[0-9]+"),)
    )
    event = build.event(scores=(build.asks("tickets", "state", found=found),))
    if given:
        assert build.plan(event, card).decisions[0].asked == ("state",)
        return
    asked = build.ask_back(event, card)
    assert asked.missing[0].field is None
    assert "state it in the text" in asked.message


def test_every_missing_argument_of_every_capability_is_named(build):
    able = (build.capability("balance", person="lang", year="year"), build.capability("history", person="lang"))
    card = build.card("records", can_answer=able)
    event = build.event(scores=(build.asks("records", "balance", "history"),), filter=leaf("year", "eq", 2026))
    asked = build.ask_back(event, card)
    assert [(row.capability, row.argument) for row in asked.missing] == [("balance", "person"), ("history", "person")]


def test_one_complete_capability_of_the_kind_is_enough(build, records):
    other = build.card("stock", source=SourceKind.RECORD, can_answer=(build.capability("stock"),))
    event = build.event(scores=(build.asks("records", "balance"), build.asks("stock", "stock")))
    plan = build.plan(event, records, other)
    assert {decision.corpus for decision in plan.decisions} == {"records", "stock"}


def test_it_is_asked_back_before_health_is_looked_at(build, rules, records, both):
    facts = BackendFacts(unhealthy=frozenset((kind, "main") for kind in Kind))
    assert build.ask_back(build.event(scores=both), rules, records, facts=facts).options


def test_a_clarification_is_bounded(build):
    able = tuple(build.capability(f"c{number}", person="lang") for number in range(MAX_ROWS + 10))
    card = build.card("records", can_answer=able)
    row = build.asks("records", *(one.name for one in able))
    assert isinstance(row, CorpusScore)
    asked = build.ask_back(build.event(scores=(row,)), card)
    assert len(asked.missing) == MAX_ROWS
    assert len(asked.to_json()) < limits.MAX_ANSWER_BYTES
