"""The one setup step: streams, consumers and buckets are created from contracts, and what exists is compared.

A difference is a `SetupMismatchError` that names each field: nothing is changed in silence. What the server refuses to
make is a `SetupRefusedError`.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, BadRequestError, NotFoundError

from fanfuse_contracts import streams
from fanfuse_contracts.streams import BucketSpec, ConsumerSpec, Storage, StreamSpec
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.settings import Creates, RuntimeSettings

TRIES: Final = 50
_RETRY_S = 0.2
_LOG_EVERY = 25
_log = get_logger("setup")
_RETRIED = (NatsTimeoutError, NoRespondersError, APIError)
"""JetStream is not up yet, has no leader, or still removes a stream of that name: try again."""


class SetupError(RuntimeError):
    """The bus does not hold what contracts declare; the message is one line that says what to do."""


class SetupMismatchError(SetupError):
    """A stream, consumer or bucket exists with other settings than the contract's."""

    def __init__(self, what: str, differences: Iterable[str]) -> None:
        self.differences = tuple(differences)
        super().__init__(
            f"{what} exists with other settings: {'; '.join(self.differences)}. Another version or deployment made it: "
            "`fanfuse deploy setup --update` changes it (a bus of `fanfuse up` alone: start with a new --data)"
        )


class SetupRefusedError(SetupError):
    """The server does not answer for JetStream, or does not make a stream, bucket or consumer, or lacks one."""

    def __init__(self, error: Exception) -> None:
        code = error.err_code if isinstance(error, APIError) else None
        why = (isinstance(error, APIError) and error.description) or str(error) or type(error).__name__
        if isinstance(error, NotFoundError):
            advice = "`fanfuse deploy setup` creates what is missing"
        else:
            advice = _NO_ROOM if code in _NO_ROOM_NOW | _NO_ROOM_YET else _ADVICE.get(code, _REFUSED)
        super().__init__(f"the bus does not take its streams: {why}. {advice}")


class NotAllowedError(SetupError):
    """The server refuses to the user of a process what it needs to start."""


class PlainBusError(SetupError):
    """The server offers no TLS to a process that asks for it."""


_NO_ROOM_NOW: Final = frozenset({10_002, 10_028, 10_047})
"""Error codes of the server: its account, its memory or its disk has no room for a stream. Waiting changes nothing."""
_NO_ROOM_YET: Final = frozenset({10_005, 10_023})
"""The same of a cluster, where a server with room may still come."""
_DISK_SHARE: Final = 0.75
"""Of the free disk: what a nats-server takes for its streams where its configuration says nothing."""


def reserved_bytes(storage: Storage) -> int:
    """What the server sets aside for the streams and buckets of the contract that have a limit."""
    of_streams = sum(spec.max_bytes or 0 for spec in streams.STREAMS if spec.storage is storage)
    return of_streams + (sum(spec.max_bytes for spec in streams.BUCKETS) if storage is Storage.FILE else 0)


def least_free_disk_bytes() -> int:
    """So much must be free where a nats-server without limits of its own begins its store."""
    return math.ceil(reserved_bytes(Storage.FILE) / _DISK_SHARE)


_NO_ROOM: Final = (
    f"Streams and buckets set aside {reserved_bytes(Storage.FILE) / 1e9:.1f} GB of disk and "
    f"{reserved_bytes(Storage.MEMORY) / 1e9:.1f} GB of memory, and a nats-server takes three quarters of what is free: "
    f"have {least_free_disk_bytes() / 1e9:.1f} GB of disk free, or another disk under --data (FANFUSE_DATA_DIR); for a "
    "server of your own raise max_file_store, max_memory_store or its account's limits"
)
_REFUSED: Final = "The nats-server must be 2.11 or newer, with JetStream on; its log says more"
_ADVICE: Final[dict[int | None, str]] = {
    10_039: "The user's account on the bus has no streams: state a user of the services' account (FANFUSE_NATS_USER "
    "with FANFUSE_NATS_NKEY, FANFUSE_NATS_CREDS or FANFUSE_NATS_PASSWORD), or turn JetStream on for this one",
}
"""By error code of the server."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What this process creates where it is missing, and with how many copies."""

    creates: Creates = Creates.ALL
    replicas: int = 1

    def over(self, spec: StreamSpec | ConsumerSpec | BucketSpec) -> bool:
        """True if it creates such a thing; else somebody else does."""
        in_memory = isinstance(spec, StreamSpec) and spec.storage is Storage.MEMORY
        return self.creates is Creates.ALL or (self.creates is Creates.MEMORY and in_memory)


ALL_RIGHTS: Final = Rights()


def rights_of(settings: RuntimeSettings) -> Rights:
    """As the settings of a process say."""
    return Rights(settings.creates, settings.stream_replicas)


def stream_config(spec: StreamSpec, replicas: int = 1) -> api.StreamConfig:
    """The server's configuration for a stream of the contract."""
    return api.StreamConfig(
        name=spec.name,
        subjects=list(spec.subjects),
        retention=api.RetentionPolicy(spec.retention.value),
        storage=api.StorageType(spec.storage.value),
        discard=api.DiscardPolicy(spec.discard.value),
        max_msgs=spec.max_msgs or -1,
        max_bytes=spec.max_bytes or -1,
        max_age=spec.max_age_s or 0,
        max_msgs_per_subject=spec.max_msgs_per_subject or -1,
        discard_new_per_subject=spec.discard_new_per_subject,
        duplicate_window=spec.duplicates_s,
        allow_direct=spec.allow_direct,
        republish=api.RePublish(src=spec.republish[0], dest=spec.republish[1]) if spec.republish else None,
        num_replicas=replicas,
    )


def consumer_config(spec: ConsumerSpec) -> api.ConsumerConfig:
    """The server's configuration for a durable consumer of the contract."""
    return api.ConsumerConfig(
        durable_name=spec.durable,
        filter_subject=spec.filter_subject,
        deliver_policy=api.DeliverPolicy.ALL,
        ack_policy=api.AckPolicy.EXPLICIT,
        ack_wait=spec.ack_wait_s,
        max_deliver=spec.max_deliver,
        max_ack_pending=spec.max_ack_pending,
        max_waiting=spec.max_waiting,
    )


STREAM_FIELDS: Final = (
    "subjects", "retention", "storage", "discard", "max_msgs", "max_bytes", "max_age", "max_msgs_per_subject",
    "discard_new_per_subject", "duplicate_window", "allow_direct",
)  # fmt: skip
CONSUMER_FIELDS: Final = ("filter_subject", "ack_policy", "ack_wait", "max_deliver", "max_ack_pending", "max_waiting")


def _differences(wanted: Any, found: Any, fields: Iterable[str]) -> list[str]:
    rows = []
    for field in fields:
        want, have = getattr(wanted, field), getattr(found, field)
        if (want or None) != (have or None) and not (want == -1 and not have):
            rows.append(f"{field} is {have!r}, should be {want!r}")
    return rows


def _too_few_copies(found: api.StreamConfig, rights: Rights) -> list[str]:
    """A cluster with one copy loses it with one server. Only who creates everything knows how many there should be."""
    copies = found.num_replicas or 1
    if rights.creates is not Creates.ALL or copies >= rights.replicas:
        return []
    return [f"num_replicas is {copies}, should be {rights.replicas}"]


async def ensure_stream(js: JetStreamContext, spec: StreamSpec, rights: Rights = ALL_RIGHTS) -> None:
    """Create the stream, or compare it; raises `SetupMismatchError`, and `NotFoundError` where others create it."""
    config = stream_config(spec, rights.replicas)
    try:
        found = (await js.stream_info(spec.name)).config
    except NotFoundError:
        if not rights.over(spec):
            raise
        try:
            await js.add_stream(config)
        except BadRequestError as error:
            # Another process created it between the two calls: compare with what it made.
            found = await _made_meanwhile(js, spec, error)
        else:
            return
    rows = [*_differences(config, found, STREAM_FIELDS), *_too_few_copies(found, rights)]
    wanted_dest = config.republish.dest if config.republish else None
    found_dest = found.republish.dest if found.republish else None
    if wanted_dest != found_dest:
        rows.append(f"republish destination is {found_dest!r}, should be {wanted_dest!r}")
    if rows:
        raise SetupMismatchError(f"stream {spec.name}", rows)


async def _made_meanwhile(js: JetStreamContext, spec: StreamSpec, refusal: BadRequestError) -> api.StreamConfig:
    try:
        return (await js.stream_info(spec.name)).config
    except NotFoundError:
        raise refusal from None


async def ensure_consumer(js: JetStreamContext, spec: ConsumerSpec, rights: Rights = ALL_RIGHTS) -> None:
    """Create the durable consumer, or compare it; raises as `ensure_stream` does."""
    config = consumer_config(spec)
    try:
        found = (await js.consumer_info(spec.stream, spec.durable)).config
    except NotFoundError:
        if not rights.over(spec):
            raise
        try:
            await js.add_consumer(spec.stream, config)
        except BadRequestError as error:
            raise SetupMismatchError(f"consumer {spec.durable} of {spec.stream}", [str(error.description)]) from error
        return
    rows = _differences(config, found, CONSUMER_FIELDS)
    if rows:
        raise SetupMismatchError(f"consumer {spec.durable} of {spec.stream}", rows)


async def ensure_bucket(js: JetStreamContext, spec: BucketSpec, rights: Rights = ALL_RIGHTS) -> None:
    """Create the key-value bucket, or compare its copies; raises as `ensure_stream` does."""
    try:
        kv = await js.key_value(spec.name)
    except NotFoundError:
        if not rights.over(spec):
            raise
        await js.create_key_value(
            bucket=spec.name, history=1, max_bytes=spec.max_bytes, direct=True, replicas=rights.replicas
        )
        return
    if rights.replicas > 1 and (rows := _too_few_copies((await kv.status()).stream_info.config, rights)):
        raise SetupMismatchError(f"bucket {spec.name}", rows)


async def ensure_topology(js: JetStreamContext, rights: Rights = ALL_RIGHTS) -> None:
    """Everything the contract declares but the pools' consumers, which their workers ensure."""
    for stream in streams.STREAMS:
        await ensure_stream(js, stream, rights)
    for bucket in streams.BUCKETS:
        await ensure_bucket(js, bucket, rights)
    for consumer in streams.CONSUMERS:
        await ensure_consumer(js, consumer, rights)


async def ensure_topology_in_time(js: JetStreamContext, rights: Rights = ALL_RIGHTS) -> None:
    """The same, patient with a broker that is just starting: JetStream may need seconds to find its leader."""
    await in_time(lambda: ensure_topology(js, rights))


async def in_time(ensure: Callable[[], Awaitable[None]], *, tries: int = TRIES, others_create: bool = True) -> None:
    """Repeat while the broker is not up yet, and for as long as something is missing that others create.

    Raises `SetupRefusedError` where the broker refuses or is silent that often (`tries`, five a second), and at once
    where it has no room. `others_create` False: what is missing counts as refused.
    """
    tried = 0
    while True:
        try:
            await ensure()
        except _RETRIED as error:
            if others_create and isinstance(error, NotFoundError):
                if tried % _LOG_EVERY == 0:
                    _log.warning("setup.missing", waits_for="what `fanfuse deploy setup` creates", error=str(error))
            elif tried >= tries or _has_no_room(error):
                raise SetupRefusedError(error) from error
        else:
            return
        tried += 1
        await asyncio.sleep(_RETRY_S)


def _has_no_room(error: Exception) -> bool:
    return isinstance(error, APIError) and error.err_code in _NO_ROOM_NOW
