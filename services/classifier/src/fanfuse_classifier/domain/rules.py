"""Static rules: the operator's word on which corpora a query is for.

In: rules as configured, once; then a text and the tenant's corpora. Out: the rules that fired, per corpus. Expressions
are RE2, so matching takes linear time; a faulty rule is refused when it is compiled, by name. Excluding wins over
boosting wherever `CorpusScore.excluded` is asked.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import re2

from fanfuse_classifier.domain.terms import Terms, match_pattern, read_terms
from fanfuse_classifier.domain.text import normalise
from fanfuse_contracts.classification import Effect, FiredRule
from fanfuse_contracts.config import StaticRule


class InvalidRuleError(ValueError):
    """A configured rule can't be used; the message names it."""


@dataclass(frozen=True, slots=True)
class _Rule:
    rule: StaticRule
    patterns: tuple[str, ...]
    expression: "re2._Regexp[str] | None"

    def fires(self, text: str, terms: Terms) -> bool:
        if not self.patterns and self.expression is None:
            return True
        if any(map(terms.contains, self.patterns)):
            return True
        return self.expression is not None and self.expression.search(text) is not None


class StaticRules:
    """Compiled rules; immutable."""

    def __init__(self, rules: Iterable[StaticRule] = ()) -> None:
        self._rules = tuple(_compile(rule) for rule in rules)

    def fire(self, tenant: str, text: str, corpora: Collection[str]) -> Mapping[str, Sequence[FiredRule]]:
        """The rules that fire for a text, per corpus that exists; in the order of configuration."""
        text = normalise(text)
        terms = read_terms(text)
        fired: dict[str, list[FiredRule]] = {}
        for compiled in self._rules:
            rule = compiled.rule
            named = [corpus for corpus in dict.fromkeys(rule.corpora) if corpus in corpora]
            if not named or rule.tenant not in {None, tenant} or not compiled.fires(text, terms):
                continue
            amount = rule.boost if rule.effect is Effect.BOOST else 0.0
            for corpus in named:
                fired.setdefault(corpus, []).append(FiredRule(rule=rule.name, effect=rule.effect, amount=amount))
        return fired


def _compile(rule: StaticRule) -> _Rule:
    patterns = tuple(match_pattern(term) for term in rule.match_any)
    for term, pattern in zip(rule.match_any, patterns, strict=True):
        if not pattern:
            raise InvalidRuleError(f"routing rule {rule.name!r}: match_any {term!r} holds no letter or digit")
    return _Rule(rule, patterns, _compile_expression(rule))


def _compile_expression(rule: StaticRule) -> "re2._Regexp[str] | None":
    if rule.match_regex is None:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(normalise(rule.match_regex), options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode() if isinstance(reason, bytes) else reason
        raise InvalidRuleError(
            f"routing rule {rule.name!r}: match_regex {rule.match_regex!r} is not valid RE2: {reason}"
        ) from error
