"""Static rules: the operator's word on which corpora a query is for.

In: rules as configured, once; then a text and the tenant's corpora. Out: the rules that fired, per corpus. Expressions
are RE2, so matching takes linear time; a faulty rule is refused when it is compiled, by name. Excluding wins over
boosting wherever `CorpusScore.excluded` is asked.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fanfuse_classifier.domain.expressions import Expression, InvalidExpressionError
from fanfuse_classifier.domain.matching import TermIndex
from fanfuse_classifier.domain.terms import Terms, read_pattern
from fanfuse_contracts.classification import Effect, FiredRule
from fanfuse_contracts.config import StaticRule


class InvalidRuleError(ValueError):
    """A configured rule or scope can't be used; the message names it."""


def check_terms(what: str, terms: Iterable[str]) -> None:
    """Raise `InvalidRuleError` for a term that could never be found."""
    for term in terms:
        if read_pattern(term) is None:
            raise InvalidRuleError(f"{what} {term!r} holds no letter or digit")


@dataclass(frozen=True, slots=True)
class _Rule:
    number: int
    rule: StaticRule
    expression: Expression | None

    def fires(self, terms: Terms, found: Collection[int]) -> bool:
        if not self.rule.match_any and self.expression is None:
            return True
        return self.number in found or (self.expression is not None and self.expression.matches(terms.text))


class StaticRules:
    """Compiled rules; immutable."""

    def __init__(self, rules: Iterable[StaticRule] = ()) -> None:
        """Raises `InvalidRuleError`."""
        self._rules = tuple(_compile(number, rule) for number, rule in enumerate(rules))
        self._index = TermIndex((term, one.number) for one in self._rules for term in one.rule.match_any)

    def fire(self, tenant: str, terms: Terms, corpora: Collection[str]) -> Mapping[str, Sequence[FiredRule]]:
        """The rules that fire for a text, per corpus that exists; in the order of configuration."""
        found = frozenset(self._index.find(terms))
        fired: dict[str, list[FiredRule]] = {}
        for compiled in self._rules:
            rule = compiled.rule
            named = [corpus for corpus in dict.fromkeys(rule.corpora) if corpus in corpora]
            if not named or rule.tenant not in {None, tenant} or not compiled.fires(terms, found):
                continue
            amount = rule.boost if rule.effect is Effect.BOOST else 0.0
            for corpus in named:
                fired.setdefault(corpus, []).append(FiredRule(rule=rule.name, effect=rule.effect, amount=amount))
        return fired


def _compile(number: int, rule: StaticRule) -> _Rule:
    check_terms(f"routing rule {rule.name!r}: match_any", rule.match_any)
    if rule.match_regex is None:
        return _Rule(number, rule, None)
    try:
        return _Rule(number, rule, Expression(rule.match_regex))
    except InvalidExpressionError as error:
        raise InvalidRuleError(f"routing rule {rule.name!r}: match_regex {error}") from error
