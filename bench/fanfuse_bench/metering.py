"""The measured child's side of the conversation: one command per line on standard input, one JSON line per answer.

`begin` starts the meter, `end` tells what was spent since, the end of the input ends the process.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Mapping
from typing import Final

from fanfuse_bench.sampling import Profile, Sampler

_FUNCTIONS_TOLD: Final = 60


def tell(message: Mapping[str, object]) -> None:
    """Say one line to the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def lines() -> asyncio.StreamReader:
    """Standard input as a stream."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


class Meter:
    """CPU of this process and of its main thread since `begin`."""

    def __init__(self) -> None:
        self._sampler = Sampler()
        self._clock = time.pthread_getcpuclockid(threading.main_thread().ident or 0)
        self._began = (0.0, 0.0)

    def begin(self) -> None:
        """Start."""
        self._began = (time.process_time(), time.clock_gettime(self._clock))
        self._sampler.start()

    def end(self) -> dict[str, object]:
        """What was spent, in seconds, and where, as shares of the main thread's samples."""
        profile = self._sampler.stop()
        process, loop = time.process_time() - self._began[0], time.clock_gettime(self._clock) - self._began[1]
        return {"cpu_s": process, "loop_cpu_s": loop, "samples": profile.samples, **_shares(profile)}


def _shares(profile: Profile) -> dict[str, object]:
    total = max(1, profile.samples)
    return {
        "owners": {owner: count / total for owner, count in profile.owners.most_common()},
        "functions": {name: count / total for name, count in profile.functions.most_common(_FUNCTIONS_TOLD)},
        "inclusive": {name: count / total for name, count in profile.inclusive.most_common(2 * _FUNCTIONS_TOLD)},
    }


async def obey(meter: Meter) -> None:
    """Say that the process is ready, then do what the parent asks until it hangs up."""
    reader = await lines()
    tell({"ready": True})
    while line := await reader.readline():
        match line.decode().strip():
            case "begin":
                meter.begin()
                tell({"begun": True})
            case "end":
                tell(meter.end())
