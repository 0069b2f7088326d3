"""The manifest of the classifier."""

import asyncio

from fanfuse_classifier.adapters.plugins import (
    UnknownClassifierError,
    load_corpus_classifier,
    load_shape_classifier,
)
from fanfuse_classifier.bus import ClassifierHandlers, declare
from fanfuse_classifier.domain.classify import Classifiers
from fanfuse_classifier.domain.rules import InvalidRuleError, StaticRules
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.context import Context
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.service import Service

_WARM_UP = ("What is it?", "как это сделать", "كيف ذلك", "यह क्या है")
"""One text per script whose language is read from a table that is loaded on first use."""


def build_classifiers(config: FanfuseConfig, settings: ClassifierSettings) -> Classifiers:
    """The replaceable parts as configured. Raises `ConfigError` with the name of the rule or classifier at fault."""
    try:
        return Classifiers(
            shape=load_shape_classifier(settings.shape_classifier),
            corpora=load_corpus_classifier(settings.corpus_classifier),
            rules=StaticRules(config.retrieval.routing.rules),
        )
    except (InvalidRuleError, UnknownClassifierError) as error:
        raise ConfigError(str(error)) from error


def build(context: Context) -> Service:
    """The classifier of one process."""
    settings = ClassifierSettings()
    classifiers = build_classifiers(context.config, settings)
    router = ServiceRouter(Stage.CLASSIFIER, context)
    declare(router, ClassifierHandlers(context, classifiers), settings.in_flight)

    async def warm_up() -> None:
        for text in _WARM_UP:
            await asyncio.to_thread(classifiers.shape, text)

    return Service(stage=Stage.CLASSIFIER, router=router, warm_up=warm_up)
