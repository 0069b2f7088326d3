"""The five services by name, for whoever runs several of them in one process."""

from collections.abc import Sequence

from fanfuse_backend_workers.service import build as build_backend_workers
from fanfuse_classifier.service import build as build_classifier
from fanfuse_contracts.enums import Stage
from fanfuse_corpus_router.service import build as build_corpus_router
from fanfuse_fuser.service import build as build_fuser
from fanfuse_health.service import build as build_health
from fanfuse_runtime.service import ServiceFactory

FACTORIES: dict[Stage, ServiceFactory] = {
    Stage.CLASSIFIER: build_classifier,
    Stage.CORPUS_ROUTER: build_corpus_router,
    Stage.BACKEND_WORKERS: build_backend_workers,
    Stage.FUSER: build_fuser,
    Stage.HEALTH: build_health,
}


def select_factories(stages: Sequence[Stage]) -> list[ServiceFactory]:
    """The factories of these services, in the order of the flow; all of them for an empty selection."""
    return [factory for stage, factory in FACTORIES.items() if not stages or stage in stages]
