"""Workers on simulated engines as a process of their own: `python -m fanfuse_testing.simulated_workers`.

In: the environment of a worker, `FANFUSE_SIMULATED_DELAY_MS` (`5-50`) and `FANFUSE_SIMULATED_REPLIES` (faults of lane
replies, see `ReplyFaults.parse`).
"""

import os
from dataclasses import replace
from typing import Final

from fanfuse_runtime.context import Context
from fanfuse_runtime.process import main
from fanfuse_runtime.service import Service
from fanfuse_testing.faults.replies import ReplyFaults, UnreliableBus
from fanfuse_testing.simulated import Delay, simulated_workers

DELAY_MS: Final = "FANFUSE_SIMULATED_DELAY_MS"
REPLIES: Final = "FANFUSE_SIMULATED_REPLIES"


def build(context: Context) -> Service:
    """The workers of one process."""
    factory = simulated_workers(Delay.parse_ms(os.environ.get(DELAY_MS, "5-50")))
    faults = os.environ.get(REPLIES, "")
    if not faults:
        return factory(context)
    return factory(replace(context, bus=UnreliableBus(context.bus, ReplyFaults.parse(faults))))


if __name__ == "__main__":
    main(build)
