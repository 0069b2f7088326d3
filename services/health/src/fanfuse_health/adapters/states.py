"""The `backend_state` bucket, read with ages in broker time and written with compare-and-set."""

from collections.abc import Callable
from datetime import UTC, datetime

from nats.errors import Error as NatsError
from nats.js.errors import KeyWrongLastSequenceError
from nats.js.kv import KeyValue
from pydantic import ValidationError

from fanfuse_contracts import streams
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.health import BackendState
from fanfuse_health.domain.standing import Stored
from fanfuse_health.domain.transitions import Transition, record_of
from fanfuse_health.ports import BackendKey
from fanfuse_runtime.bus import Bus, StoredMessage
from fanfuse_runtime.errors import PublishRefusedError
from fanfuse_runtime.logs import get_logger

_log = get_logger("health")
# Names the server gives a bucket's stream and subjects (ADR-8 of the NATS architecture decisions).
_STREAM = f"KV_{streams.BACKEND_STATE.name}"
_PREFIX = f"$KV.{streams.BACKEND_STATE.name}."


def _log_unreadable(key: str, why: str) -> None:
    _log.error("health.unreadable_state", bucket=streams.BACKEND_STATE.name, key=key, error=why)


class BucketStateStore:
    """`StateStore` on a key-value bucket."""

    def __init__(self, bus: Bus, on_unreadable: Callable[[str, str], None] = _log_unreadable) -> None:
        """`on_unreadable`: hears key and reason of each record of which this version makes nothing."""
        self._bus = bus
        self._on_unreadable = on_unreadable
        self._bucket: KeyValue | None = None

    async def read_all(self) -> dict[BackendKey, Stored]:
        """Every stored record with its revision and age, in one batched read."""
        found = await self._bus.last_of_each(_STREAM, f"{_PREFIX}>")
        keyed = ((_key_of(message.subject), message) for message in found)
        return {key: self._stored(message) for key, message in keyed if key is not None}

    async def read(self, key: BackendKey) -> Stored | None:
        """One record; None if it was never stored."""
        message = await self._bus.last(_STREAM, _PREFIX + streams.backend_key(key.kind, key.backend))
        return self._stored(message) if message is not None else None

    async def write(self, transition: Transition) -> Stored | None:
        """Store a transition; None if its revision is not the last any more."""
        record = record_of(transition, datetime.fromtimestamp(self._bus.now_ns() / 1e9, UTC).isoformat())
        key = streams.backend_key(transition.kind, transition.backend)
        try:
            if self._bucket is None:
                self._bucket = await self._bus.js.key_value(streams.BACKEND_STATE.name)
            revision = await self._bucket.update(key, record.to_json(), last=transition.after_revision)
        except KeyWrongLastSequenceError:
            return None
        except (NatsError, TimeoutError) as error:
            raise PublishRefusedError(f"state of {key} was not stored: {str(error) or 'no answer'}") from error
        return Stored(record, revision, age_s=0.0)

    def _stored(self, message: StoredMessage) -> Stored:
        return Stored(self._record(message), message.sequence, self._bus.elapsed_ms(message.stored_ns) / 1e3)

    def _record(self, message: StoredMessage) -> BackendState | None:
        if not message.data:
            return None  # deleted
        try:
            return BackendState.from_json(message.data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            why = f"{'.'.join(map(str, first['loc'])) or 'the record'}: {first['msg']}"
            self._on_unreadable(message.subject.removeprefix(_PREFIX), why)
            return None


def _key_of(subject: str) -> BackendKey | None:
    kind, _, backend = subject.removeprefix(_PREFIX).partition(".")
    try:
        return BackendKey(Kind(kind), backend)
    except ValueError:
        return None  # a kind of a newer version
