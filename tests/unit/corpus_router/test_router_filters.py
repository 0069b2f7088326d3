"""TEN-02, the router's side: a lane that cannot enforce a filter is left out and named, never run without it."""

import pytest
from pydantic import TypeAdapter, ValidationError

from fanfuse_contracts.enums import Kind, LaneOutcome, RejectionCode
from fanfuse_contracts.filters import Filter, Op, digest
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.planning import PlannedQuery

FILTERS = TypeAdapter(Filter)


def leaf(field, op, value):
    return {"field": field, "op": op, "value": value}


def limited(build, corpus, **operators):
    """A corpus whose lanes each apply only the named operators."""
    backends = tuple(build.wiring(kind, operators=frozenset(ops)) for kind, ops in operators.items())
    return build.card(corpus, backends=backends)


@pytest.mark.parametrize(
    ("condition", "possible"),
    [
        (leaf("lang", "eq", "en"), True),
        (leaf("lang", "contains", "e"), True),
        (leaf("lang", "gte", "a"), True),
        (leaf("lang", "in", ["en", "de"]), True),
        (leaf("lang", "eq", 1), False),
        (leaf("lang", "in", ["en", 1]), False),
        (leaf("year", "gte", 2020), True),
        (leaf("year", "not_in", [2020, 2021]), True),
        (leaf("year", "eq", 2020.5), False),
        (leaf("year", "eq", True), False),
        (leaf("year", "eq", 2**63), False),
        (leaf("year", "gte", "2020"), False),
        (leaf("year", "contains", "20"), False),
        (leaf("year", "exists", False), True),
        (leaf("price", "lt", 3), True),
        (leaf("price", "lt", 3.5), True),
        (leaf("price", "lt", "3"), False),
        (leaf("draft", "eq", True), True),
        (leaf("draft", "eq", 1), False),
        (leaf("draft", "gt", 1), False),
        (leaf("tags", "contains", "x"), True),
        (leaf("tags", "exists", True), True),
        (leaf("tags", "eq", "x"), False),
        (leaf("tags", "in", ["x"]), False),
        (leaf("nosuch", "eq", "x"), False),
        ({"and": [leaf("year", "gte", 2020), {"or": [leaf("lang", "eq", "en"), leaf("tags", "contains", "x")]}]}, True),
        ({"and": [leaf("year", "gte", 2020), {"or": [leaf("lang", "eq", "en"), leaf("nosuch", "eq", 1)]}]}, False),
        ({"not": leaf("year", "contains", "2")}, False),
    ],
)
def test_field_operator_and_value_must_fit_the_card(build, condition, possible):
    event = build.event(filter=condition)
    if possible:
        assert len(build.plan(event, build.card("a")).lanes) == 3
        return
    rejection = build.refuse(event, build.card("a"))
    assert rejection.code is RejectionCode.UNSUPPORTED_FILTER
    assert not rejection.retryable


def test_only_lanes_that_apply_the_operator_are_used_and_the_others_are_named(build):
    card = limited(build, "a", vector=(Op.EQ,), keyword=(Op.EQ, Op.CONTAINS), graph=())
    plan = build.plan(build.event(filter=leaf("lang", "contains", "e")), card)
    assert [lane.kind for lane in plan.lanes] == [Kind.KEYWORD]
    assert [(lane.kind, lane.outcome) for lane in plan.skipped] == [
        (Kind.VECTOR, LaneOutcome.SKIPPED_FILTER),
        (Kind.GRAPH, LaneOutcome.SKIPPED_FILTER),
    ]
    assert plan.skipped[0].reason == (
        "operator 'contains' on 'lang' cannot be applied by vector/main in corpus 'a'; possible: eq"
    )
    assert plan.skipped[1].reason.endswith("possible: no operator")
    assert not plan.decisions[0].bm25_fallback


def test_another_corpus_may_apply_what_one_cannot(build):
    card_a, card_b = build.card("a", fields={}), build.card("b")
    plan = build.plan(build.event(filter=leaf("lang", "eq", "en")), card_a, card_b)
    assert {lane.corpus for lane in plan.lanes} == {"b"}
    assert {lane.corpus for lane in plan.skipped} == {"a"}


def test_a_refused_filter_is_told_with_field_operator_and_what_is_possible(build):
    unknown = build.refuse(build.event(filter=leaf("yeer", "gte", 2020)), build.card("a"))
    assert "field 'yeer' is not filterable in corpus 'a'; possible: draft (boolean), lang (string)" in unknown.message
    wrong = build.refuse(build.event(filter=leaf("year", "contains", "2")), build.card("a"))
    assert "operator 'contains' does not fit integer field 'year'; possible: eq, exists, gt, gte" in wrong.message
    value = build.refuse(build.event(filter=leaf("year", "gte", "2020")), build.card("a"))
    assert "integer field 'year' takes a 64-bit integer with operator 'gte'" in value.message


def test_a_refusal_names_no_corpus_that_is_not_searched(build):
    rejection = build.refuse(
        build.event(filter=leaf("nosuch", "eq", 1)), build.card("a"), build.card("secret", public=False)
    )
    assert "secret" not in rejection.message


def test_a_filter_is_to_blame_only_if_no_lane_could_apply_it(build):
    card = limited(build, "a", vector=(), keyword=(Op.EQ,))
    facts = BackendFacts(unhealthy=frozenset({(Kind.KEYWORD, "main")}))
    rejection = build.refuse(build.event(filter=leaf("lang", "eq", "en")), card, facts=facts)
    assert (rejection.code, rejection.retryable) == (RejectionCode.UNCONFIRMED, True)


def test_a_lane_that_is_switched_off_enforces_nothing(build):
    off = build.wiring("keyword", weight=0.0)
    card = build.card("a", backends=(off, build.wiring("vector", operators=frozenset())))
    rejection = build.refuse(build.event(filter=leaf("lang", "eq", "en")), card)
    assert rejection.code is RejectionCode.UNSUPPORTED_FILTER
    assert "keyword/main" not in rejection.message


def test_every_command_carries_the_whole_filter_and_its_digest(build):
    condition = {"and": [leaf("year", "gte", 2020), {"not": leaf("lang", "eq", "de")}]}
    routed = build.route(build.event(filter=condition), build.card("a"), build.card("b"))
    assert isinstance(routed, PlannedQuery)
    assert len(routed.commands) == 6
    for command in routed.commands:
        assert command.filter == FILTERS.validate_python(condition)
        assert command.filter_digest == digest("acme", command.corpus, command.filter)


def test_an_unknown_operator_never_reaches_the_router(build):
    with pytest.raises(ValidationError, match="regexx"):
        build.event(filter=leaf("lang", "regexx", "e.*"))
