"""What each lane of a corpus contributed to answers, read from the bus. In: a time span. Out: sums per corpus.

The fusers tell counts every ten seconds (`contracts/quality.py`); they are kept for a day.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from nats.errors import Error as NatsError
from nats.js.api import ConsumerConfig, DeliverPolicy
from pydantic import ValidationError

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.quality import LaneQuality, QualityMeasured, added
from fanfuse_runtime.bus import Bus

WITHIN_S: Final = 900.0
_NEXT_TIMEOUT_S: Final = 5.0
_MOST_EVENTS: Final = 20_000


@dataclass(frozen=True, slots=True)
class CorpusQuality:
    """One corpus, with the sums of its lanes."""

    tenant: str
    corpus: str
    lanes: tuple[LaneQuality, ...]


async def read_quality(bus: Bus, within_s: float = WITHIN_S) -> tuple[CorpusQuality, ...]:
    """Every corpus that was in an answer of the last `within_s` seconds, by tenant and id. Raises `OperatorError`."""
    sums: dict[tuple[str, str], tuple[LaneQuality, ...]] = {}
    try:
        for event in await _events(bus, within_s):
            key = (event.tenant, event.corpus)
            sums[key] = added((*sums.get(key, ()), *event.lanes))
    except NatsError as error:
        raise OperatorError(f"the counts of lanes can't be read: {str(error) or type(error).__name__}") from error
    return tuple(CorpusQuality(*key, sums[key]) for key in sorted(sums))


async def _events(bus: Bus, within_s: float) -> list[QualityMeasured]:
    since = datetime.now(UTC) - timedelta(seconds=within_s)
    subscription = await bus.js.subscribe(
        subjects.QUALITY,
        stream=streams.QUALITY.name,
        ordered_consumer=True,
        config=ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_TIME, opt_start_time=since),
    )
    events: list[QualityMeasured] = []
    try:
        info = await subscription.consumer_info()
        # What the server pushed meanwhile is no longer pending.
        there = (info.num_pending or 0) + (info.delivered.consumer_seq if info.delivered else 0)
        for _ in range(min(there, _MOST_EVENTS)):
            message = await subscription.next_msg(timeout=_NEXT_TIMEOUT_S)
            event = _readable(message.subject, message.data)
            if event is not None:
                events.append(event)
    finally:
        await subscription.unsubscribe()
    return events


def _readable(subject: str, data: bytes) -> QualityMeasured | None:
    """None for an event of another version, or of a corpus that its subject does not name."""
    try:
        event = QualityMeasured.from_json(data)
    except ValidationError:
        return None
    return event if subject == subjects.quality(event.tenant, event.corpus) else None
