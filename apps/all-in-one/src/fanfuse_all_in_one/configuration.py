"""Every check of the operator's file: those of the runtime, and what only a service can say of its own part.

In: a configuration that was read, and the environment. Out: findings, located, errors and warnings. It starts nothing.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from fanfuse_all_in_one.process_settings import all_settings
from fanfuse_classifier.domain.capabilities import card_faults
from fanfuse_classifier.domain.rules import InvalidRuleError, StaticRules
from fanfuse_classifier.domain.scopes import Scopes
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.configfile import LoadedConfig
from fanfuse_runtime.configuration.checks import check
from fanfuse_runtime.configuration.findings import Finding, KeyPath, Level
from fanfuse_runtime.configuration.keys import leaves
from fanfuse_runtime.configuration.overrides import PREFIX, variable_of

_ROUTING: Final[KeyPath] = ("retrieval", "routing")
_OURS: Final = "FANFUSE_"
_CLOSE: Final = 0.85


def check_all(loaded: LoadedConfig, environment: Mapping[str, str]) -> list[Finding]:
    """Every finding, in the order of the file."""
    config = loaded.config
    return loaded.located((*check(config), *_terms(config), *_cards(config), *_misspelt(environment)))


def _terms(config: FanfuseConfig) -> Iterator[Finding]:
    routing = config.retrieval.routing
    for at, rule in enumerate(routing.rules):
        try:
            StaticRules((rule,))
        except InvalidRuleError as error:
            yield Finding((*_ROUTING, "rules", at), str(error))
    for at, scope in enumerate(routing.scopes):
        try:
            Scopes((scope,))
        except InvalidRuleError as error:
            yield Finding((*_ROUTING, "scopes", at), str(error))


def _cards(config: FanfuseConfig) -> Iterator[Finding]:
    for at, card in enumerate(config.cards()):
        for inside, part in _parts(card):
            yield from (Finding(("corpora", at, "card", *inside), fault) for fault in card_faults(part))


def _parts(card: CorpusCard) -> Iterator[tuple[KeyPath, CorpusCard]]:
    """The card with one capability or topic at a time, so that a fault is told where it stands."""
    bare = card.model_copy(update={"can_answer": (), "cannot_confirm": ()})
    for at, capability in enumerate(card.can_answer):
        yield ("can_answer", at), bare.model_copy(update={"can_answer": (capability,)})
    for at, topic in enumerate(card.cannot_confirm):
        yield ("cannot_confirm", at), bare.model_copy(update={"cannot_confirm": (topic,)})


def _misspelt(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that no process reads, but that look like one that is read."""
    known = {variable: None for setting in all_settings() for variable in setting.variables}
    known |= {variable_of(leaf.path): None for leaf in leaves() if not leaf.in_list}
    ours = (name for name in sorted(environment) if name.startswith(_OURS) and not name.startswith(PREFIX))
    for name in ours:
        close = [] if name in known else difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE)
        for meant in close:
            yield Finding((), f"is read by no process, did you mean {meant}?", Level.WARNING, where=f"env {name}")
