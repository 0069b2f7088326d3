"""Static rules: the operator's word on which corpora a query is for.

In: rules as configured, once; then a text and the tenant's corpora. Out: the rules that fired, per corpus. Expressions
are RE2, so matching takes linear time; a faulty rule is refused when it is compiled, by name. Excluding wins over
boosting wherever `CorpusScore.excluded` is asked.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fanfuse_classifier.domain.expressions import AnyOf, Expression, InvalidExpressionError
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
    corpora: tuple[str, ...]
    tenant: str | None
    fired: FiredRule
    """What is told where it fires."""
    terms: tuple[str, ...]
    expression: Expression | None

    @property
    def unconditional(self) -> bool:
        """True if it fires for every text."""
        return not self.terms and self.expression is None


class StaticRules:
    """Compiled rules; immutable."""

    def __init__(self, rules: Iterable[StaticRule] = ()) -> None:
        """Raises `InvalidRuleError`."""
        self._rules = tuple(map(_compile, rules))
        self._index = TermIndex((term, number) for number, rule in enumerate(self._rules) for term in rule.terms)
        self._always = frozenset(n for n, rule in enumerate(self._rules) if rule.unconditional)
        self._expressions = [(n, rule.expression) for n, rule in enumerate(self._rules) if rule.expression is not None]
        self._any_expression = AnyOf([expression for _, expression in self._expressions])

    def fire(self, tenant: str, terms: Terms, corpora: Collection[str]) -> Mapping[str, Sequence[FiredRule]]:
        """The rules that fire for a text, per corpus that exists; in the order of configuration."""
        fired: dict[str, list[FiredRule]] = {}
        for number in sorted(self._always.union(self._index.find(terms), self._matching(terms.text))):
            rule = self._rules[number]
            if rule.tenant in {None, tenant}:
                for corpus in rule.corpora:
                    if corpus in corpora:
                        fired.setdefault(corpus, []).append(rule.fired)
        return fired

    def _matching(self, text: str) -> list[int]:
        if not self._any_expression.may_match(text):
            return []
        return [number for number, expression in self._expressions if expression.matches(text)]


def _compile(rule: StaticRule) -> _Rule:
    check_terms(f"routing rule {rule.name!r}: match_any", rule.match_any)
    amount = rule.boost if rule.effect is Effect.BOOST else 0.0
    return _Rule(
        corpora=tuple(dict.fromkeys(rule.corpora)),
        tenant=rule.tenant,
        fired=FiredRule(rule=rule.name, effect=rule.effect, amount=amount),
        terms=rule.match_any,
        expression=_expression(rule),
    )


def _expression(rule: StaticRule) -> Expression | None:
    try:
        return Expression(rule.match_regex) if rule.match_regex is not None else None
    except InvalidExpressionError as error:
        raise InvalidRuleError(f"routing rule {rule.name!r}: match_regex {error}") from error
