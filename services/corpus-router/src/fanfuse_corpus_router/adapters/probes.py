"""Has health probe degraded backends before a decision, and waits until this process has heard what came of it.

In: (kind, backend) and a time. Out: nothing; the decision is made from whatever is known afterwards. Where health does
not answer, or not in time, the states stay as they were.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from pydantic import ValidationError

from fanfuse_contracts import flow, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.health import ProbeReply, ProbeRequest
from fanfuse_corpus_router.ports import Backends
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.errors import BusError
from fanfuse_runtime.logs import get_logger

_log = get_logger("corpus-router.probes")
_BY: Final = "decide"
_LOOK_EVERY_S: Final = 0.01


async def probe_first(bus: Bus, backends: Backends, degraded: Iterable[tuple[Kind, str]], within_s: float) -> None:
    """Ask for all probes at once, and wait for their outcomes to be known here."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            revisions = await asyncio.gather(*(_probe(bus, kind, name, within_s) for kind, name in degraded))
            await _known(backends, max(revisions, default=0))


async def _probe(bus: Bus, kind: Kind, backend: str, within_s: float) -> int:
    """Revision of the states at which the reply holds; 0 without one."""
    try:
        reply = await bus.request(flow.PROBE, subjects.backend_probe(kind, backend), ProbeRequest(by=_BY), within_s)
        return ProbeReply.from_json(reply).revision
    except (BusError, ValidationError) as error:
        _log.warning("decide.not_probed", kind=kind.value, backend=backend, error=str(error))
        return 0


async def _known(backends: Backends, revision: int) -> None:
    while True:
        if backends.revision >= revision:
            return
        await asyncio.sleep(_LOOK_EVERY_S)
