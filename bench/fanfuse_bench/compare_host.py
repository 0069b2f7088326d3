"""Fanfuse as it is compared: the five services in one process, on the engines that everybody is given.

Run by the benchmark as `python -m fanfuse_bench.compare_host <url> <data folder> <seconds to an engine>`. Each
line of standard input names the trouble from now on.
"""

import asyncio
import sys
from pathlib import Path

from fanfuse_all_in_one.indexing import DEFAULT_EMBEDDER
from fanfuse_all_in_one.services import FACTORIES
from fanfuse_backend_workers.adapters.embedded import texts_in
from fanfuse_backend_workers.service import build_with
from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_bench.compare_engines import Situation, Trouble, distant_engines
from fanfuse_bench.metering import lines, tell
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.compose import compose
from fanfuse_runtime.logs import configure_logs
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.simulated import SimulatedEmbedder


class _NoModel(SimulatedEmbedder):
    """Every query brings its vector, as the peers' do: nobody holds a model."""

    model = DEFAULT_EMBEDDER.model


async def _serve(url: str, data_dir: Path, situation: Situation) -> None:
    factories = dict(FACTORIES)
    factories[Stage.BACKEND_WORKERS] = build_with(
        open_engine=distant_engines(data_dir, situation),
        open_texts=texts_in(data_dir),
        load_embedder=lambda _spec: _NoModel(),
        settings=WorkerSettings(),
    )
    settings = RuntimeSettings(nats_url=url, data_dir=data_dir, ops_port=0, drain_timeout_s=2.0)
    async with compose(*factories.values(), settings=settings):
        reader = await lines()
        tell({"ready": True})
        while line := await reader.readline():
            situation.trouble = Trouble(line.decode().strip())
            tell({"trouble": situation.trouble.value})


if __name__ == "__main__":
    configure_logs("error")
    asyncio.run(_serve(sys.argv[1], Path(sys.argv[2]), Situation(float(sys.argv[3]))))
