"""The manifest of the corpus router: what it hears, with which settings."""

from fanfuse_contracts.enums import Stage
from fanfuse_corpus_router.bus import RouterHandlers, declare
from fanfuse_corpus_router.settings import RouterSettings
from fanfuse_runtime.context import Context
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.service import Service


def build(context: Context) -> Service:
    """Build the service for one process."""
    router = ServiceRouter(Stage.CORPUS_ROUTER, context)
    declare(router, RouterHandlers(context), RouterSettings().in_flight)
    return Service(stage=Stage.CORPUS_ROUTER, router=router)
