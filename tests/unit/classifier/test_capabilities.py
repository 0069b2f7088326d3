"""Capability cards: what is asked, what a corpus can't confirm, and which arguments the text gives."""

import time

import pytest

from fanfuse_classifier.domain.capabilities import CapabilityMatcher, CardFindings, card_faults
from fanfuse_classifier.domain.terms import read_terms
from fanfuse_contracts.classification import AskedCapability
from fanfuse_contracts.corpus import CorpusCard

BALANCE = {
    "name": "leave-balance",
    "match_any": ["leave balance", "remaining holiday", "余额"],
    "required": [
        {"name": "employee", "field": "employee_id", "pattern": r"\bEMP-\d+\b"},
        {"name": "year", "field": "year"},
        {"name": "month", "pattern": r"\b2026-\d\d\b"},
    ],
}
POLICY = {"name": "leave-policy", "match_any": ["leave policy", "holiday"]}
SALARY = {"name": "salaries", "match_any": ["salary", "how much does"]}


def card(corpus, tenant="t", **fields):
    return CorpusCard.model_validate({"tenant": tenant, "corpus": corpus, **fields})


RECORDS = card("records", can_answer=[BALANCE])
HANDBOOK = card("handbook", can_answer=[POLICY], cannot_confirm=[SALARY])
CARDS = (HANDBOOK, RECORDS)


def find(text, cards=CARDS, capability=None):
    return CapabilityMatcher().find(read_terms(text), cards, capability)


def asked(capability, *matched, found=()):
    return AskedCapability(capability=capability, matched=matched, found=found)


def test_terms_of_a_card_ask_for_its_capability():
    assert find("my Leave Balance, please") == {
        "records": CardFindings((asked("leave-balance", "leave balance"),), ()),
    }


def test_every_term_that_is_found_is_named_in_the_order_of_the_card():
    [only] = find("remaining holiday, i.e. the leave-balance 余额")["records"].asked

    assert only.matched == ("leave balance", "remaining holiday", "余额")


def test_one_text_may_ask_several_corpora():
    """`holiday` speaks for the handbook, `remaining holiday` for the records as well."""
    assert sorted(find("remaining holiday")) == ["handbook", "records"]


def test_terms_match_whole_words_as_those_of_rules_do():
    assert find("holidaymakers and salaryman") == {}


def test_a_topic_that_can_not_be_confirmed_is_named():
    assert find("the salary") == {"handbook": CardFindings((), ("salaries",))}


def test_the_text_gives_the_arguments_whose_pattern_it_matches():
    [only] = find("leave balance of EMP-17 for 2026-03")["records"].asked

    assert only.found == ("employee", "month")


def test_an_argument_with_a_field_alone_is_never_found_in_the_text():
    [only] = find("leave balance of year 2026")["records"].asked

    assert only.found == ()


def test_a_capability_that_the_query_names_is_asked_without_any_of_its_terms():
    found = find("what about EMP-17?", capability="leave-balance")

    assert found == {"records": CardFindings((asked("leave-balance", found=("employee",)),), ())}
    assert find("what about EMP-17?", capability="unheard-of") == {}


def test_a_named_capability_is_asked_beside_what_the_text_asks():
    found = find("holiday", capability="leave-balance")

    assert found["handbook"].asked == (asked("leave-policy", "holiday"),)
    assert found["records"].asked == (asked("leave-balance"),)


def test_a_changed_card_is_read_anew_and_a_deleted_one_forgotten():
    matcher = CapabilityMatcher()
    terms = read_terms("holiday salary EMP-1")
    changed = card("handbook", can_answer=[BALANCE | {"match_any": ["salary"]}])

    assert matcher.find(terms, (HANDBOOK,))["handbook"].asked == (asked("leave-policy", "holiday"),)
    found = matcher.find(terms, (changed,))
    assert found == {"handbook": CardFindings((asked("leave-balance", "salary", found=("employee",)),), ())}
    assert matcher.find(terms, (card("other"),)) == {}
    assert matcher.find(terms, ()) == {}


def test_a_list_of_cards_that_grows_is_seen():
    matcher = CapabilityMatcher()
    cards = [HANDBOOK]
    matcher.find(read_terms("x"), cards)
    cards.append(RECORDS)

    assert "records" in matcher.find(read_terms("leave balance"), cards)


def test_tenants_are_kept_apart():
    matcher = CapabilityMatcher()
    other = card("handbook", tenant="u", can_answer=[POLICY | {"match_any": ["espresso"]}])

    assert matcher.find(read_terms("holiday"), CARDS)
    assert matcher.find(read_terms("holiday"), (other,)) == {}
    assert matcher.find(read_terms("espresso"), CARDS) == {}


def test_a_card_says_nothing_where_nothing_is_asked():
    assert find("unrelated") == {}
    assert find("???") == {}


FAULTY = card(
    "records",
    can_answer=[BALANCE | {"match_any": ["leave balance", "??"], "required": [{"name": "a", "pattern": "(["}]}],
    cannot_confirm=[{"name": "none", "match_any": ["--"]}],
)


def test_a_faulty_pattern_is_never_found_and_the_rest_of_the_card_counts():
    assert find("leave balance ([", (FAULTY,)) == {
        "records": CardFindings((asked("leave-balance", "leave balance"),), ())
    }


def test_the_faults_of_a_card_are_told_one_by_one():
    """What `config check` and registration refuse."""
    assert card_faults(FAULTY) == (
        "corpus 'records': 'leave-balance': match_any '??' holds no letter or digit",
        "corpus 'records': 'none': match_any '--' holds no letter or digit",
        "corpus 'records': argument 'a' of 'leave-balance': pattern '([' is not valid RE2: missing ]: [",
    )
    assert card_faults(RECORDS) == card_faults(HANDBOOK) == ()


@pytest.mark.parametrize("pattern", ["(a+)+b", "(.*a){30}b", "(a|b)*a(a|b){400}c"])
def test_a_pathological_pattern_takes_linear_time(pattern):
    """CLS-06, for the arguments of a card."""
    evil = card("evil", can_answer=[BALANCE | {"required": [{"name": "a", "pattern": pattern}]}])
    matcher = CapabilityMatcher()
    matcher.find(read_terms("x"), (evil,))
    took = []
    for length in (40, 41, 42):
        began = time.process_time()
        found = matcher.find(read_terms("leave balance " + "a" * length + "X"), (evil,))
        took.append(time.process_time() - began)

    assert min(took) < 0.01
    assert found["evil"].asked[0].found == ()


def test_a_pattern_that_would_cost_too_much_is_a_fault_of_the_card():
    costly = card("evil", can_answer=[BALANCE | {"required": [{"name": "a", "pattern": r"\pL{900}"}]}])

    [fault] = card_faults(costly)
    assert "pattern too large" in fault
