"""Every check of the operator's file: those of the runtime, and what only a service can say of its own part.

In: a configuration that was read, and the environment. Out: findings, located, errors and warnings. It starts nothing.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from fanfuse_all_in_one.process_settings import all_settings
from fanfuse_backend_workers.adapters.engines import authority_fault
from fanfuse_classifier.adapters.profiles import ProfileError, read_profile
from fanfuse_classifier.domain.capabilities import card_faults
from fanfuse_classifier.domain.rules import InvalidRuleError, StaticRules
from fanfuse_classifier.domain.scopes import Scopes
from fanfuse_classifier.service import build_classifiers
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.configfile import ConfigError, LoadedConfig
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
    found = [*check(config), *_terms(config), *_cards(config), *_profile(config), *_authorities(config)]
    found += _misspelt(environment)
    if not any(finding.level is Level.ERROR for finding in found):
        found += _start(config)
    return loaded.located(found)


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


def _profile(config: FanfuseConfig) -> Iterator[Finding]:
    routing = config.retrieval.routing
    if routing.profile is None:
        return
    where = (*_ROUTING, "profile")
    try:
        profile = read_profile(routing.profile)
    except ProfileError as error:
        yield Finding(where, str(error))
        return
    here = {corpus.id for corpus in config.corpora if profile.tenant in {None, corpus.tenant_id}}
    whose = "" if profile.tenant is None else f" of tenant {profile.tenant!r}"
    if config.corpora and not here.intersection(profile.model.corpora):
        yield Finding(where, f"it scores {', '.join(profile.model.corpora)}{whose}, and `corpora` has none of them")
    elif unknown := sorted(set(profile.model.corpora) - here):
        yield Finding(where, f"it also scores {', '.join(unknown)}{whose}, not in `corpora`", Level.WARNING)
    if routing.learned_temperature != 1.0:
        message = "a profile's probabilities are calibrated for 1: another temperature distorts them"
        yield Finding((*_ROUTING, "learned_temperature"), message, Level.WARNING)


def _authorities(config: FanfuseConfig) -> Iterator[Finding]:
    """Files that keep a worker from starting where they are missing."""
    for kind, name, backend in config.backends.servers():
        if fault := authority_fault(backend):
            yield Finding(("backends", kind.value, name, "ca_file"), fault)


def _start(config: FanfuseConfig) -> list[Finding]:
    """What else would keep the classifier from starting, such as a plug-in that is not installed."""
    try:
        build_classifiers(config, ClassifierSettings())
    except ConfigError as error:
        return [Finding((), str(error))]
    return []


def _misspelt(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that no process reads, but that look like one that is read."""
    known = {variable: None for setting in all_settings() for variable in setting.variables}
    known |= {variable_of(leaf.path): None for leaf in leaves() if not leaf.in_list}
    ours = (name for name in sorted(environment) if name.startswith(_OURS) and not name.startswith(PREFIX))
    for name in ours:
        close = [] if name in known else difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE)
        for meant in close:
            yield Finding((), f"is read by no process, did you mean {meant}?", Level.WARNING, where=f"env {name}")
