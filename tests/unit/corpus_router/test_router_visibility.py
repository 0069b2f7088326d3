"""TEN-06: an absent or blank scope never means "no restriction"."""

import pytest

from fanfuse_contracts.enums import RejectionCode
from fanfuse_contracts.plan import Rejection
from fanfuse_contracts.query import Principal
from fanfuse_corpus_router.domain.visibility import visible_corpora

BOB = Principal(id="bob", roles=frozenset({"sales"}))
NOBODY_IN_PARTICULAR = Principal(id="eve")


@pytest.fixture(scope="module")
def cards(build):
    return (
        build.card("public"),
        build.card("internal", public=False),
        build.card("sales", public=False, readers=frozenset({"sales"})),
        build.card("board", public=False, readers=frozenset({"board"})),
        build.card("other", tenant="globex"),
    )


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        (None, ["public"]),
        (NOBODY_IN_PARTICULAR, ["internal", "public"]),
        (BOB, ["internal", "public", "sales"]),
        (Principal(id="   ", roles=frozenset({"board", "sales"})), ["public"]),
    ],
)
def test_readers_roles_and_statements_decide(cards, principal, expected):
    assert list(visible_corpora(cards, "acme", principal)) == expected


def test_a_blank_role_opens_nothing(build):
    card = build.card("odd", public=False, readers=frozenset({"", "  "}))
    assert visible_corpora([card], "acme", Principal(id="bob", roles=frozenset({"", "  "}))) == {}


@pytest.mark.parametrize("tenant", ["nobody", "acme2", "globex"])
def test_a_tenant_without_visible_corpora_is_refused(build, tenant):
    event = build.event(tenant=tenant)
    rejection = build.refuse(event, build.card("public"), build.card("shut", tenant="globex", public=False))
    assert rejection.code is RejectionCode.NO_VISIBLE_CORPUS


def test_a_card_of_another_tenant_is_never_used_even_if_it_is_handed_in(build):
    plan = build.plan(build.event(), build.card("mine"), build.card("theirs", tenant="globex"))
    assert plan.corpus_decision.selected_corpora == ("mine",)


def test_a_pin_of_invisible_corpora_reads_like_a_pin_of_nothing(build):
    event = build.event(corpora=("board",))
    seen = build.refuse(event, build.card("public"), build.card("board", public=False))
    unseen = build.refuse(event, build.card("public"))
    assert seen == unseen
    assert seen.code is RejectionCode.UNKNOWN_CORPUS
    assert seen.to_json() == unseen.to_json()


def test_a_partly_invisible_pin_searches_the_rest_and_names_the_unknown(build):
    event = build.event(corpora=("board", "public", "nowhere"))
    plan = build.plan(event, build.card("public"), build.card("board", public=False))
    assert plan.corpus_decision.selected_corpora == ("public",)
    assert "unknown corpus 'board', 'nowhere'" in plan.corpus_decision.reason
    without = build.plan(event, build.card("public"))
    assert plan.to_json() == without.to_json()


def test_an_invisible_corpus_changes_no_byte_of_the_plan(build):
    event = build.event(scores=(build.score("public", 1.0), build.score("board", 9.0, boost="r")))
    with_it = build.route(event, build.card("public"), build.card("board", public=False))
    without = build.route(event, build.card("public"))
    assert not isinstance(without, Rejection)
    assert with_it == without


def test_with_nothing_visible_a_pin_tells_nothing_either(build):
    event = build.event(corpora=("board",))
    assert build.refuse(event, build.card("board", public=False)) == build.refuse(event)
