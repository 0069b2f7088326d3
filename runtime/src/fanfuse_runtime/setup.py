"""The one setup step: streams, consumers and buckets are created from contracts, and what exists is compared.

A difference is a `SetupMismatchError` that names each field: nothing is changed in silence.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext, api
from nats.js.errors import BadRequestError, NotFoundError, ServerError, ServiceUnavailableError

from fanfuse_contracts import streams
from fanfuse_contracts.streams import BucketSpec, ConsumerSpec, Storage, StreamSpec
from fanfuse_runtime.logs import get_logger
from fanfuse_runtime.settings import Creates, RuntimeSettings

_TRIES = 50
_RETRY_S = 0.2
_LOG_EVERY = 25
_log = get_logger("setup")
TRANSIENT = (NatsTimeoutError, NoRespondersError, ServiceUnavailableError, ServerError)
"""JetStream is not up yet, has no leader, or still removes a stream of that name: try again."""


class SetupMismatchError(RuntimeError):
    """A stream, consumer or bucket exists with other settings than the contract's."""

    def __init__(self, what: str, differences: Iterable[str]) -> None:
        super().__init__(
            f"{what} exists with other settings: {'; '.join(differences)}. "
            "Another version or deployment made it: update or delete it, then start again."
        )


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


_STREAM_FIELDS = (
    "subjects", "retention", "storage", "discard", "max_msgs", "max_bytes", "max_age", "max_msgs_per_subject",
    "discard_new_per_subject", "duplicate_window", "allow_direct",
)  # fmt: skip
_CONSUMER_FIELDS = ("filter_subject", "ack_policy", "ack_wait", "max_deliver", "max_ack_pending", "max_waiting")


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
        except BadRequestError:
            # Another process created it between the two calls: compare with what it made.
            found = (await js.stream_info(spec.name)).config
        else:
            return
    rows = [*_differences(config, found, _STREAM_FIELDS), *_too_few_copies(found, rights)]
    wanted_dest = config.republish.dest if config.republish else None
    found_dest = found.republish.dest if found.republish else None
    if wanted_dest != found_dest:
        rows.append(f"republish destination is {found_dest!r}, should be {wanted_dest!r}")
    if rows:
        raise SetupMismatchError(f"stream {spec.name}", rows)


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
    rows = _differences(config, found, _CONSUMER_FIELDS)
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


async def in_time(ensure: Callable[[], Awaitable[None]]) -> None:
    """Repeat while the broker is not up yet, and for as long as something is missing that others create."""
    tries = 0
    while True:
        try:
            await ensure()
        except NotFoundError as error:
            if tries % _LOG_EVERY == 0:
                _log.warning("setup.missing", waits_for="what `fanfuse deploy setup` creates", error=str(error))
        except TRANSIENT:
            if tries >= _TRIES:
                raise
        else:
            return
        tries += 1
        await asyncio.sleep(_RETRY_S)
