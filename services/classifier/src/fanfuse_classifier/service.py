"""The manifest of the classifier."""

import asyncio
from pathlib import Path

from fanfuse_classifier.adapters.admission import TenantAdmission
from fanfuse_classifier.adapters.plugins import (
    DEFAULT_CORPUS_CLASSIFIER,
    UnknownClassifierError,
    load_corpus_classifier,
    load_shape_classifier,
)
from fanfuse_classifier.adapters.principals import Authenticator
from fanfuse_classifier.adapters.profiles import ProfileError, load_trained
from fanfuse_classifier.bus import ClassifierHandlers, declare, report_faults
from fanfuse_classifier.domain.classify import Classifiers, classify
from fanfuse_classifier.domain.rules import InvalidRuleError, StaticRules
from fanfuse_classifier.domain.scopes import Scopes
from fanfuse_classifier.ports import CorpusClassifier
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.context import Context
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.service import Service

_WARM_UP = ("What is it?", "как это сделать", "كيف ذلك", "यह क्या है")
"""One text per script whose language is read from a table that is loaded on first use."""


def build_classifiers(config: FanfuseConfig, settings: ClassifierSettings) -> Classifiers:
    """The parts of the decision as configured.

    Raises `ConfigError` with the name of the rule, scope, profile or classifier at fault.
    """
    routing = config.retrieval.routing
    try:
        return Classifiers(
            shape=load_shape_classifier(settings.shape_classifier),
            corpora=_load_scorer(routing.profile, settings.corpus_classifier),
            rules=StaticRules(routing.rules),
            scopes=Scopes(routing.scopes),
        )
    except (InvalidRuleError, UnknownClassifierError, ProfileError) as error:
        raise ConfigError(str(error)) from error


def _load_scorer(profile: Path | None, plugin: str | None) -> CorpusClassifier:
    if profile is None:
        return load_corpus_classifier(plugin or DEFAULT_CORPUS_CLASSIFIER)
    if plugin is not None:
        raise ConfigError(
            f"retrieval.routing.profile names {profile} and FANFUSE_CLASSIFIER_CORPUS_CLASSIFIER names {plugin!r}: "
            "only one can score the corpora, leave one out"
        )
    return load_trained(profile)


def build(context: Context) -> Service:
    """The classifier of one process."""
    settings = ClassifierSettings()
    classifiers = build_classifiers(context.config, settings)
    router = ServiceRouter(Stage.CLASSIFIER, context)
    authenticator = Authenticator(context.config.security)
    admission = TenantAdmission(context.bus, context.pools, context.config.pressure)
    declare(router, ClassifierHandlers(context, classifiers, authenticator, admission), settings.in_flight)
    context.corpora.on_change(report_faults)

    async def warm_up() -> None:
        await asyncio.to_thread(_warm_up, context, classifiers)

    return Service(stage=Stage.CLASSIFIER, router=router, warm_up=warm_up)


def _warm_up(context: Context, classifiers: Classifiers) -> None:
    for text in _WARM_UP:
        classifiers.shape(text)
    for tenant in {card.tenant for card in context.corpora.values.values()}:
        classify(SubmittedQuery(text=_WARM_UP[0]), tenant, context.corpora.of_tenant(tenant), classifiers)
