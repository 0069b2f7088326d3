"""The one answer: stored through the runtime's publish, which refuses a second one."""

from typing import Final

from fanfuse_contracts import limits
from fanfuse_contracts.answer import Answer
from fanfuse_runtime.answers import publish_answer
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.metrics import Metrics

_HEADERS_BYTES: Final = 2_048


class BusAnswers:
    """Stores answers in ANSWERS."""

    def __init__(self, bus: Bus, metrics: Metrics) -> None:
        self._bus = bus
        self._metrics = metrics

    @property
    def max_bytes(self) -> int:
        """The contract's limit, or what the broker takes where that is less."""
        return min(limits.MAX_ANSWER_BYTES, self._bus.nc.max_payload - _HEADERS_BYTES)

    async def publish(self, answer: Answer, body: bytes) -> bool:
        """False if another answer was stored first."""
        return await publish_answer(self._bus, self._metrics, answer, body)
