"""The measured process: all five services, on simulated or embedded engines, logging as a deployment does.

Run by the benchmark as `python -m fanfuse_bench.host <url> <data folder> <simulated delay in ms, or "embedded">`; a
fourth argument, "recorded", leaves every decision out (see `recorded.py`).
"""

import asyncio
import sys
from pathlib import Path

from fanfuse_all_in_one.services import FACTORIES
from fanfuse_bench.metering import Meter, obey
from fanfuse_bench.recorded import record_decisions
from fanfuse_contracts.enums import Stage
from fanfuse_runtime.compose import compose
from fanfuse_runtime.logs import configure_logs
from fanfuse_runtime.settings import RuntimeSettings
from fanfuse_testing.simulated import Delay, simulated_workers


async def _serve(url: str, data_dir: str, engines: str, decisions: str = "real") -> None:
    if decisions == "recorded":
        record_decisions(float(engines) / 1e3)
    factories = dict(FACTORIES)
    if engines != "embedded":
        factories[Stage.BACKEND_WORKERS] = simulated_workers(Delay.parse_ms(engines))
    settings = RuntimeSettings(nats_url=url, data_dir=Path(data_dir), ops_port=0, drain_timeout_s=2.0)
    async with compose(*factories.values(), settings=settings):
        await obey(Meter())


if __name__ == "__main__":
    configure_logs("info")
    asyncio.run(_serve(*sys.argv[1:5]))
