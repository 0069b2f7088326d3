"""The fuser's manifest: its ports on this process's bus, its subscribers."""

from fanfuse_contracts import metrics
from fanfuse_contracts.enums import Stage
from fanfuse_fuser import bus
from fanfuse_fuser.adapters.answers import BusAnswers
from fanfuse_fuser.adapters.cancellations import BusCancellations
from fanfuse_fuser.adapters.narration import TracedRoutes
from fanfuse_fuser.adapters.outcomes import BusOutcomes
from fanfuse_fuser.adapters.quality import QualityMeter
from fanfuse_fuser.adapters.replies import BusReplies
from fanfuse_fuser.adapters.texts import BusTexts
from fanfuse_fuser.fuser import Fuser
from fanfuse_fuser.joining import World
from fanfuse_fuser.settings import FuserSettings
from fanfuse_runtime.context import Context
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.service import Service
from fanfuse_runtime.wired_series import prepare_wired


def build(context: Context) -> Service:
    """One fuser in one process."""
    bus_, fusion = context.bus, context.config.retrieval.fusion
    world = World(BusReplies(bus_), BusTexts(bus_), context.pools, bus_, fusion)
    answers = BusAnswers(context.bus, context.metrics)
    routes = TracedRoutes(context.tracer, context.bus)
    quality = QualityMeter(context.bus, context.metrics)
    outcomes, cancellations = BusOutcomes(context.bus), BusCancellations(context.bus)
    fuser = Fuser(world, answers, outcomes, cancellations, routes, quality, context.metrics)
    router = ServiceRouter(Stage.FUSER, context)
    prepare_wired(context.metrics, context.corpora, (metrics.JOIN_LANES, metrics.SHED_LANES_TOTAL))
    bus.register(router, context, fuser, FuserSettings())
    return Service(stage=Stage.FUSER, router=router, background=(quality.run,), close=quality.tell)
