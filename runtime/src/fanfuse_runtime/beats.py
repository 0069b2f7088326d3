"""When the loops of a process look: all at the same moments, so that a process at rest is woken once for all of them.

In: a period in seconds. Waits for its next whole multiple on the event loop's clock, which each process reads from
another zero: those of one machine do not wake up together.
"""

import asyncio
import random
from typing import Final

_ZERO_S: Final = random.random()


async def next_beat(every_s: float) -> None:
    """Return at the next multiple of `every_s`, more than nothing and at most `every_s` from now."""
    await asyncio.sleep(every_s - (asyncio.get_running_loop().time() + _ZERO_S) % every_s)
