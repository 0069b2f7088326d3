"""What each lane of a corpus contributed to answers, read from the bus. In: a time span. Out: sums per corpus.

The fusers tell counts every ten seconds (`contracts/quality.py`); they are kept for a day. A reader goes on where it
ended, so that looking again costs what is new.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from nats.errors import Error as NatsError
from nats.js.api import ConsumerConfig, DeliverPolicy
from pydantic import ValidationError

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.quality_window import QualityWindow
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.quality import LaneQuality, QualityMeasured
from fanfuse_runtime.bus import Bus

WITHIN_S: Final = 900.0
_NEXT_TIMEOUT_S: Final = 5.0
_MOST_EVENTS: Final = 20_000
"""Read in one look; what is left is for the next one."""


@dataclass(frozen=True, slots=True)
class CorpusQuality:
    """One corpus, with the sums of its lanes."""

    tenant: str
    corpus: str
    lanes: tuple[LaneQuality, ...]


class QualityReader:
    """Every corpus that was in an answer of the last `within_s` seconds, now and whenever it is asked again."""

    def __init__(self, bus: Bus, within_s: float = WITHIN_S) -> None:
        self._bus = bus
        self._within_s = within_s
        self._begin()

    def _begin(self) -> None:
        self._window = QualityWindow(self._within_s)
        self._read_to = 0
        """Sequence of the last event that was read."""

    async def read(self) -> tuple[CorpusQuality, ...]:
        """By tenant and id. Raises `OperatorError`."""
        try:
            await self._read_on()
        except NatsError as error:
            raise OperatorError(f"the counts of lanes can't be read: {str(error) or type(error).__name__}") from error
        self._window.forget(self._bus.now_ns())
        return tuple(CorpusQuality(*corpus, lanes) for corpus, lanes in self._window.rows().items())

    async def _read_on(self) -> None:
        last = (await self._bus.js.stream_info(streams.QUALITY.name)).state.last_seq
        if last < self._read_to:
            self._begin()  # the stream was made anew
        if last > self._read_to and await self._read_new() < _MOST_EVENTS:
            self._read_to = max(self._read_to, last)

    async def _read_new(self) -> int:
        """How many there were."""
        subscription = await self._bus.js.subscribe(
            subjects.QUALITY, stream=streams.QUALITY.name, ordered_consumer=True, config=self._from_here()
        )
        try:
            info = await subscription.consumer_info()
            # What the server pushed meanwhile is no longer pending.
            there = (info.num_pending or 0) + (info.delivered.consumer_seq if info.delivered else 0)
            for _ in range(min(there, _MOST_EVENTS)):
                message = await subscription.next_msg(timeout=_NEXT_TIMEOUT_S)
                self._enter(message.subject, message.data, message.metadata.timestamp)
                self._read_to = message.metadata.sequence.stream
        finally:
            await subscription.unsubscribe()
        return there

    def _from_here(self) -> ConsumerConfig:
        if self._read_to:
            return ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=self._read_to + 1)
        since = datetime.fromtimestamp(self._bus.now_ns() / 1e9 - self._within_s, UTC)
        return ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_TIME, opt_start_time=since)

    def _enter(self, subject: str, data: bytes, stored: datetime) -> None:
        event = _readable(subject, data)
        if event is not None:
            self._window.add((event.tenant, event.corpus), event.lanes, int(stored.timestamp() * 1e9))


async def read_quality(bus: Bus, within_s: float = WITHIN_S) -> tuple[CorpusQuality, ...]:
    """One look. Raises `OperatorError`."""
    return await QualityReader(bus, within_s).read()


def _readable(subject: str, data: bytes) -> QualityMeasured | None:
    """None for an event of another version, or of a corpus that its subject does not name."""
    try:
        event = QualityMeasured.from_json(data)
    except ValidationError:
        return None
    return event if subject == subjects.quality(event.tenant, event.corpus) else None
