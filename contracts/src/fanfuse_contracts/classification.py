"""What the classifier found: shape, features of the text and raw corpus scores. No decision."""

from collections.abc import Iterable

from fanfuse_contracts.base import FiniteFloat, Model
from fanfuse_contracts.enums import ClosedSet, Shape
from fanfuse_contracts.query import QueryEvent
from fanfuse_contracts.tokens import Token


class Effect(ClosedSet):
    """What a static rule does to a corpus."""

    BOOST = "boost"
    EXCLUDE = "exclude"


class QueryShape(Model):
    """Result of `classify_shape`: the shape, why, and the material found in the text."""

    shape: Shape
    reason: str
    """Short name of the rule that decided."""
    identifiers: tuple[str, ...] = ()
    """Exact-match material (ticket ids, CVE ids, UUIDs, versions), never cut."""
    phrases: tuple[str, ...] = ()
    """Quoted phrases without their quotes."""
    entities: tuple[str, ...] = ()
    """Surface forms of names: graph seeds when the caller gives none."""
    code_intent: bool = False
    scripts: tuple[str, ...] = ()
    """Unicode scripts present, most frequent first, such as "latin" or "han"."""
    language: str | None = None
    """ISO 639-1 code, or None where the text is too short or mixed to tell."""


class FiredRule(Model):
    """A static rule that matched."""

    rule: str
    effect: Effect
    amount: FiniteFloat = 0.0


class ScopeSignal(Model):
    """A configured domain or content type that the text names."""

    scope: Token
    alias: str
    """The words that named it, as configured."""


class AskedCapability(Model):
    """A capability that the text asks for."""

    capability: Token
    matched: tuple[str, ...]
    """The terms of the card that were found."""
    found: tuple[Token, ...] = ()
    """Names of the arguments whose pattern matches the text."""


class CorpusScore(Model):
    """Raw score of one corpus: the scorer's value plus boosts, and what else its card says of the text."""

    corpus: Token
    score: FiniteFloat
    fired: tuple[FiredRule, ...] = ()
    asked: tuple[AskedCapability, ...] = ()
    cannot_confirm: tuple[str, ...] = ()
    """Names of the card's topics that the text asks about."""

    @property
    def excluded(self) -> bool:
        """True if any rule excluded the corpus; exclude wins over boost."""
        return any(rule.effect is Effect.EXCLUDE for rule in self.fired)


def fired_names(scores: Iterable[CorpusScore]) -> tuple[str, ...]:
    """Names of everything that fired for any corpus, sorted."""
    return tuple(sorted({rule.rule for score in scores for rule in score.fired}))


class QueryClassified(QueryEvent):
    """Published on `query.classified.<tenant>.<query_id>`."""

    classification: QueryShape
    scopes: tuple[ScopeSignal, ...] = ()
    corpus_scores: tuple[CorpusScore, ...] = ()
    """One row per corpus of the tenant that has a score, a fired rule or an asked capability."""
