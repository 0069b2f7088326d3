"""The workers' manifest: catalog, embedding and worker on this process's bus, their subscribers, their life cycle."""

from fanfuse_backend_workers import bus
from fanfuse_backend_workers.adapters.embedded import engines_in, texts_in
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.adapters.engines import connect_server
from fanfuse_backend_workers.admission import Admission
from fanfuse_backend_workers.catalog import Catalog
from fanfuse_backend_workers.connections import Connections
from fanfuse_backend_workers.domain.in_hand import InHand
from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.embedding import QueryEmbedding
from fanfuse_backend_workers.engine_watch import EngineWatch
from fanfuse_backend_workers.ports import LoadEmbedder, OpenEngine, OpenTexts
from fanfuse_backend_workers.remote import engines_on, texts_on
from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_backend_workers.telling import PoolTelling
from fanfuse_backend_workers.warming import opened_warm, warm_up
from fanfuse_backend_workers.worker import Worker
from fanfuse_contracts import metrics
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.context import Context
from fanfuse_runtime.router import ServiceRouter
from fanfuse_runtime.service import Service, ServiceFactory
from fanfuse_runtime.wired_series import prepare_wired


def build_with(
    *,
    open_engine: OpenEngine,
    open_texts: OpenTexts,
    load_embedder: LoadEmbedder,
    settings: WorkerSettings | None = None,
    connections: Connections | None = None,
) -> ServiceFactory:
    """A factory of workers on these engines, texts and embedders. `settings`: None reads the environment.

    `connections`: the servers behind the engines, closed with the workers.
    """
    chosen = settings or WorkerSettings()

    def build_workers(context: Context) -> Service:
        embedding = QueryEmbedding(load_embedder, chosen.embedder_threads)
        catalog = Catalog(context.corpora, chosen.pools, opened_warm(open_engine, embedding), open_texts)
        worker = Worker(catalog, embedding, Admission(chosen.in_flight_per_corpus), context.bus)
        router = ServiceRouter(Stage.BACKEND_WORKERS, context)
        prepare_wired(
            context.metrics,
            context.corpora,
            (metrics.LANE_SECONDS, metrics.LANE_FAILURES_TOTAL),
            lambda wiring: Pool(wiring.kind, wiring.pool) in chosen.pools,
        )
        in_hand = InHand()
        bus.declare(router, bus.WorkerHandlers(context, worker, catalog, in_hand), chosen.pools, chosen.in_flight)
        servers = {pool: connections.names_of(pool) for pool in chosen.pools} if connections else {}
        watch = EngineWatch(connections.of_pools(chosen.pools) if connections else ())
        telling = PoolTelling(chosen.pools, context.corpora, catalog, in_hand, context.bus, servers, watch)

        async def warm() -> None:
            await watch.start()
            await warm_up(catalog, embedding)

        async def close() -> None:
            await watch.close()
            embedding.close()
            await catalog.close()
            if connections is not None:
                await connections.close()

        return Service(
            stage=Stage.BACKEND_WORKERS,
            router=router,
            warm_up=warm,
            close=close,
            served_pools=telling.served,
            urgent=telling.urgent,
            applied_revision=catalog.applied_revision,
        )

    return build_workers


def build(context: Context) -> Service:
    """Workers on the configured servers, and on the embedded engines of the data directory.

    Raises `ConfigError` where a server of their pools can have no client here.
    """
    data, settings = context.settings.data_dir, WorkerSettings()
    connections = Connections(context.config.backends, connect_server)
    connections.of_pools(settings.pools)
    return build_with(
        open_engine=engines_on(connections, engines_in(data)),
        open_texts=texts_on(connections, texts_in(data)),
        load_embedder=build_embedder,
        settings=settings,
        connections=connections,
    )(context)
