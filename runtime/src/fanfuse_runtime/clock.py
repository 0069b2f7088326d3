"""Broker time in this process: the local monotonic clock plus a measured offset.

Budgets are durations counted from the moment the broker stored a query. No wall clock of any other process is read, so
skew between machines neither expires fresh work nor extends it.
"""

import json
import time
from datetime import UTC, datetime

from nats.aio.client import Client

from fanfuse_contracts.streams import FUSER_CONSUMER

_INFO_SUBJECT = f"$JS.API.CONSUMER.INFO.{FUSER_CONSUMER.stream}.{FUSER_CONSUMER.durable}"


def parse_rfc3339_ns(text: str) -> int:
    """Nanoseconds since the epoch of an RFC 3339 time with up to nine fractional digits."""
    whole, _, rest = text.partition(".")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    zone = rest[digits:] if rest else ""
    moment = datetime.fromisoformat(whole + zone).astimezone(UTC)
    return int(moment.timestamp()) * 1_000_000_000 + int(rest[:digits].ljust(9, "0"))


class BrokerClock:
    """Estimates the broker's clock from the `ts` of an API answer, taken at half its round trip."""

    def __init__(self) -> None:
        # Before the first measurement the local wall clock stands in: right on one machine.
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Broker time, nanoseconds since the epoch."""
        return time.monotonic_ns() + self._offset_ns

    async def measure(self, client: Client) -> None:
        """Take one measurement; a failed request leaves the last offset in force."""
        sent = time.monotonic_ns()
        answer = await client.request(_INFO_SUBJECT, b"", timeout=2.0)
        middle = (sent + time.monotonic_ns()) // 2
        stamp = json.loads(answer.data).get("ts")
        if stamp:
            self._offset_ns = parse_rfc3339_ns(stamp) - middle
