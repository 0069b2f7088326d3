"""Rules and cards judged by decisions."""

from fanfuse_all_in_one.linting import Check, Decided, lint
from fanfuse_contracts.config import RoutingConfig, Scope, ScopeKind, StaticRule
from fanfuse_contracts.corpus import CorpusCard

LEGAL = CorpusCard(tenant="acme", corpus="legal", description="contracts and clauses of suppliers")
TRAVEL = CorpusCard(tenant="acme", corpus="travel", description="flights hotels and trains of employees")


def decided(*selected: str, fired: tuple[str, ...] = (), tenant: str = "acme") -> Decided:
    return Decided(tenant, selected, fired)


def found(*, cards=(LEGAL, TRAVEL), decisions=(), **routing) -> list[tuple[Check, str]]:
    return [(one.check, one.message) for one in lint(RoutingConfig(**routing), cards, decisions)]


def test_a_rule_that_fires_in_no_decision_is_found_and_one_that_does_is_not():
    rules = (StaticRule(name="law", corpora=("legal",)), StaticRule(name="sea", corpora=("legal",)))
    findings = found(rules=rules, decisions=[decided("legal", "travel", fired=("law",))])

    assert [check for check, _ in findings] == [Check.RULE_NEVER_FIRES]
    assert "'sea'" in findings[0][1]


def test_a_scope_that_nobody_names_is_found():
    scope = Scope(name="hr", kind=ScopeKind.DOMAIN, aliases=("personnel",))
    assert found(scopes=(scope,), decisions=[decided("legal", "travel")])[0][0] is Check.RULE_NEVER_FIRES
    assert found(scopes=(scope,), decisions=[decided("legal", "travel", fired=("scope:hr",))]) == []


def test_a_corpus_that_no_decision_selects_is_found_with_the_number_of_decisions():
    findings = found(decisions=[decided("legal"), decided("legal"), decided("other", tenant="globex")])

    assert [check for check, _ in findings] == [Check.CORPUS_NEVER_SELECTED]
    assert "acme/travel" in findings[0][1]
    assert "2 decisions" in findings[0][1]


def test_a_tenant_without_decisions_is_not_judged():
    assert found(decisions=[decided("legal", tenant="globex")]) == []


def test_cards_that_say_the_same_are_found_within_a_tenant_only():
    twin = LEGAL.model_copy(update={"corpus": "law", "description": "Clauses and contracts of our suppliers"})
    foreign = twin.model_copy(update={"tenant": "globex"})

    assert [check for check, _ in found(cards=(LEGAL, twin))] == [Check.CARDS_OVERLAP]
    assert found(cards=(LEGAL, foreign)) == []
    assert found(cards=(LEGAL, TRAVEL)) == []


def test_without_decisions_only_cards_are_judged():
    assert found(rules=(StaticRule(name="law", corpora=("legal",)),)) == []


def test_a_rule_that_fired_for_a_refused_query_is_not_silent():
    rules = (StaticRule(name="law", corpora=("legal",)),)
    assert found(rules=rules, decisions=[decided("legal", "travel"), decided(fired=("law",))]) == []
