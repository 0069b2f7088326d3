"""Which subjects each user of the bus may publish and hear: derived from the flow, the streams and the buckets.

In: a stage, a pool or a tenant. Out: two lists of patterns. What is not listed is refused. Names of services are in
capitals, which no tenant's name can be, so a tenant is never taken for a service.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.access import inbox_prefix
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.flow import Delivery
from fanfuse_contracts.streams import BucketSpec, ConsumerSpec, Storage
from fanfuse_contracts.tokens import check_token

OPERATOR: Final = "OPERATOR"
"""The operator's commands."""
SETUP: Final = "SETUP"
"""The step that creates streams, buckets and consumers."""
NACK: Final = "NACK"
"""NATS' operator for Kubernetes, where it creates them instead. An installation without it has no such user."""

_API: Final = "$JS.API"
_HEARD: Final = (Delivery.REPUBLISHED, Delivery.CORE, Delivery.REQUEST)
"""What comes by a subscription of one's own; the rest is fetched into an inbox."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """One user."""

    user: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    responds: bool = False
    """True: it may answer whoever asked it, once."""


def user_of_stage(stage: Stage) -> str:
    """The user of a service; workers have one per pool."""
    return stage.value.upper()


def user_of_pool(kind: Kind, pool: str) -> str:
    """The user of a pool of workers."""
    return streams.pool_consumer(kind, pool).durable.upper()


def of_tenant(tenant: str) -> Permissions:
    """An application of a tenant: it asks, cancels and reads its own answers, live and stored."""
    name = check_token(tenant, "tenant")
    return _permissions(
        name,
        (
            *(_at_first(pattern, name) for pattern in _published(flow.CALLER)),
            f"{_API}.DIRECT.GET.{streams.ANSWERS.name}.{subjects.fused_of_tenant(name)}",
        ),
        (_at_first(pattern, name) for pattern in _heard(flow.CALLER)),
        responds=False,
    )


def of_stage(stage: Stage) -> Permissions:
    """A service that is no worker."""
    consumers = {
        Stage.CLASSIFIER: streams.CLASSIFIER_CONSUMER,
        Stage.CORPUS_ROUTER: streams.ROUTER_CONSUMER,
        Stage.FUSER: streams.FUSER_CONSUMER,
        Stage.HEALTH: streams.JANITOR_CONSUMER,
    }
    own = {Stage.FUSER: _fuser, Stage.HEALTH: _health}.get(stage, tuple)
    published = _published(stage.value) if stage is Stage.HEALTH else _own_deadletters(stage, _published(stage.value))
    return _service(user_of_stage(stage), stage, (*published, *_answering(), *_fetches(consumers[stage]), *own()))


def of_pool(kind: Kind, pool: str) -> Permissions:
    """The workers of one pool."""
    stage = Stage.BACKEND_WORKERS
    published = (
        _below(pattern, kind.value) if pattern == subjects.BACKEND_OUTCOME else pattern
        for pattern in _own_deadletters(stage, _published(stage.value))
    )
    return _service(user_of_pool(kind, pool), stage, (*published, *_fetches(streams.pool_consumer(kind, pool))))


def of_operator() -> Permissions:
    """The operator's commands: they read what is kept for people and write the registry, and take no work away."""
    buckets = tuple(map(stream_of_bucket, streams.BUCKETS))
    read = (streams.ANSWERS.name, streams.AUDIT.name, streams.DEADLETTER.name, *buckets)
    return _permissions(
        OPERATOR,
        (
            *_published(flow.OPERATOR),
            # Dead letters go back to where they came from, and an answer that is deleted leaves a note.
            *(
                pattern
                for stream in (streams.QUERIES, streams.RETRIEVE, streams.ANSWERS)
                for pattern in stream.subjects
            ),
            *(f"$KV.{bucket.name}.>" for bucket in streams.BUCKETS),
            "$SRV.>",
            *_compares(),
            *(f"{_API}.CONSUMER.LIST.{stream.name}" for stream in streams.STREAMS),
            *(api for name in read for api in (*_direct_reads(name), *_ordered_reads(name))),
            *_ordered_reads(streams.QUALITY.name),
            f"{_API}.STREAM.MSG.GET.{streams.AUDIT.name}",
            f"{_API}.STREAM.MSG.DELETE.{streams.DEADLETTER.name}",
            f"{_API}.STREAM.PURGE.{streams.ANSWERS.name}",
        ),
        (*_heard(flow.OPERATOR), subjects.QUERY_ANSWERED),
        responds=False,
    )


_MADE: Final = ("INFO", "CREATE", "UPDATE", "DELETE")


def of_setup(pools: Iterable[tuple[Kind, str]]) -> Permissions:
    """The setup step: it creates what contracts declare, and the consumers of these pools, and reads no message.

    Told to (`--update`), it changes or replaces what differs.
    """
    consumers = (*streams.CONSUMERS, *(streams.pool_consumer(kind, pool) for kind, pool in pools))
    names = (*(stream.name for stream in streams.STREAMS), *map(stream_of_bucket, streams.BUCKETS))
    return _permissions(
        SETUP,
        (
            f"{_API}.INFO",
            *(f"{_API}.STREAM.{verb}.{name}" for name in names for verb in _MADE),
            *(f"{_API}.CONSUMER.INFO.{spec.stream}.{spec.durable}" for spec in consumers),
            *(f"{_API}.CONSUMER.DURABLE.CREATE.{spec.stream}.{spec.durable}" for spec in consumers),
            *(f"{_API}.CONSUMER.CREATE.{spec.stream}.{spec.durable}.>" for spec in consumers),
            *(f"{_API}.CONSUMER.DELETE.{spec.stream}.{spec.durable}" for spec in consumers),
        ),
        (),
        responds=False,
    )


def of_nack(pools: Iterable[tuple[Kind, str]]) -> Permissions:
    """As the setup step, but it deletes nothing; it hears replies on plain inboxes, which nobody else has."""
    setup = of_setup(pools)
    return Permissions(NACK, tuple(one for one in setup.publish if ".DELETE." not in one), ("_INBOX.>",))


def of_everyone(pools: Iterable[tuple[Kind, str]], tenants: Iterable[str]) -> tuple[Permissions, ...]:
    """Every user of an installation with these pools of workers and these tenants."""
    wanted = tuple(pools)
    stages = (stage for stage in Stage if stage is not Stage.BACKEND_WORKERS)
    return (
        of_setup(wanted),
        of_operator(),
        *map(of_stage, stages),
        *(of_pool(kind, pool) for kind, pool in wanted),
        *map(of_tenant, tenants),
    )


def stream_of_bucket(bucket: BucketSpec) -> str:
    """The stream below a key-value bucket (ADR-8 of the NATS architecture decisions)."""
    return f"KV_{bucket.name}"


# -- parts ------------------------------------------------------------------------------------------------------


def _permissions(user: str, publish: Iterable[str], subscribe: Iterable[str], *, responds: bool) -> Permissions:
    heard = (f"{inbox_prefix(user)}.>", *subscribe)
    return Permissions(user, tuple(dict.fromkeys(publish)), tuple(dict.fromkeys(heard)), responds)


def _service(user: str, stage: Stage, publish: Iterable[str]) -> Permissions:
    name = f"fanfuse-{stage.value}"
    asked = ("$SRV.*", f"$SRV.*.{name}", f"$SRV.*.{name}.*")
    # Every process keeps the registry, the health of backends and who is alive in view.
    return _permissions(
        user,
        (*_only_heartbeats_of(stage, publish), *_compares(), *_watches()),
        (*_heard(stage.value), subjects.HEARTBEAT, *asked),
        responds=True,
    )


def _published(role: str) -> tuple[str, ...]:
    return tuple(channel.subject for channel in flow.CHANNELS if role in channel.publishers)


def _heard(role: str) -> tuple[str, ...]:
    return tuple(
        channel.subject for channel in flow.CHANNELS if role in channel.subscribers and channel.delivery in _HEARD
    )


def _at_first(pattern: str, token: str) -> str:
    return pattern.replace("*", token, 1)


def _below(pattern: str, token: str) -> str:
    return f"{pattern.removesuffix('>')}{token}.*"


def _only_heartbeats_of(stage: Stage, publish: Iterable[str]) -> tuple[str, ...]:
    own = _at_first(subjects.HEARTBEAT, stage.value)
    return tuple(own if pattern == subjects.HEARTBEAT else pattern for pattern in publish)


def _own_deadletters(stage: Stage, publish: Iterable[str]) -> tuple[str, ...]:
    own = _below(subjects.DEADLETTER, stage.value)
    return tuple(own if pattern == subjects.DEADLETTER else pattern for pattern in publish)


def _compares() -> tuple[str, ...]:
    """Every process compares what it finds with contracts before it starts."""
    names = (*(stream.name for stream in streams.STREAMS), *map(stream_of_bucket, streams.BUCKETS))
    return (
        *(f"{_API}.STREAM.INFO.{name}" for name in names),
        *(f"{_API}.CONSUMER.INFO.{spec.stream}.{spec.durable}" for spec in streams.CONSUMERS),
    )


def _watches() -> tuple[str, ...]:
    return tuple(api for bucket in streams.BUCKETS for api in _ordered_reads(stream_of_bucket(bucket)))


def _ordered_reads(stream: str) -> tuple[str, ...]:
    """A consumer of one's own that keeps no state, told into one's inbox."""
    return (
        f"{_API}.CONSUMER.CREATE.{stream}",
        f"{_API}.CONSUMER.CREATE.{stream}.>",
        f"{_API}.CONSUMER.INFO.{stream}.*",
        f"{_API}.CONSUMER.DELETE.{stream}.*",
        f"$JS.FC.{stream}.>",
    )


def _direct_reads(stream: str) -> tuple[str, str]:
    return f"{_API}.DIRECT.GET.{stream}", f"{_API}.DIRECT.GET.{stream}.>"


def _fetches(spec: ConsumerSpec) -> tuple[str, ...]:
    return (
        f"{_API}.CONSUMER.INFO.{spec.stream}.{spec.durable}",
        f"{_API}.CONSUMER.MSG.NEXT.{spec.stream}.{spec.durable}",
        f"$JS.ACK.{spec.stream}.{spec.durable}.>",
    )


def _answering() -> tuple[str, ...]:
    # A query id that is used again gets the stored answer once more.
    stored = f"{_API}.DIRECT.GET.{streams.ANSWERS.name}.{subjects.QUERY_FUSED}"
    return stored, subjects.QUERY_ANSWERED


def _fuser() -> tuple[str, ...]:
    return (f"{_API}.DIRECT.GET.{streams.RETRIEVED.name}",)


def _health() -> tuple[str, ...]:
    queues = (streams.QUERIES.name, streams.RETRIEVE.name, streams.ADVISORIES.name)
    states = streams.BACKEND_STATE
    return (
        f"$KV.{states.name}.>",
        *_direct_reads(stream_of_bucket(states)),
        *_direct_reads(streams.RETRIEVED.name),
        *_ordered_reads(streams.OUTCOMES.name),
        *(f"{_API}.STREAM.MSG.{verb}.{name}" for name in queues for verb in ("GET", "DELETE")),
        f"{_API}.CONSUMER.INFO.{streams.RETRIEVE.name}.*",
        # Streams in memory go with a lone broker: health makes them again, and nothing else.
        *(f"{_API}.STREAM.CREATE.{stream.name}" for stream in streams.STREAMS if stream.storage is Storage.MEMORY),
    )
