"""Streams, buckets and consumers as custom resources of NACK, for clusters where that operator creates them.

In: the pools of a configuration. Out: YAML made from contracts: what `fanfuse deploy setup` creates otherwise. With
`preventDelete` NACK never takes one away: what is accepted stays when a resource is deleted by mistake.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from fanfuse_contracts import streams
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.streams import BucketSpec, ConsumerSpec, StreamSpec

API_VERSION: Final = "jetstream.nats.io/v1beta2"
ACCOUNT: Final = "fanfuse"
"""Name of the Account resource in the component `nack`."""
_HEAD: Final = "# Made by `fanfuse deploy nack`: change fanfuse.yaml and make it again.\n"


def render_nack(pools: Iterable[tuple[Kind, str]], replicas: int) -> str:
    """One YAML stream: every stream and bucket with so many copies, every consumer, those of the pools too."""
    return _HEAD + yaml.safe_dump_all(_resources(pools, replicas), sort_keys=False, width=120)


def _resources(pools: Iterable[tuple[Kind, str]], replicas: int) -> Iterator[dict[str, Any]]:
    for stream in streams.STREAMS:
        yield _resource("Stream", stream.name.lower(), _stream(stream) | {"replicas": replicas})
    for bucket in streams.BUCKETS:
        yield _resource("KeyValue", bucket.name.replace("_", "-"), _bucket(bucket) | {"replicas": replicas})
    for consumer in (*streams.CONSUMERS, *(streams.pool_consumer(kind, pool) for kind, pool in pools)):
        yield _resource("Consumer", consumer.durable, _consumer(consumer))


def _resource(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    stated = {**spec, "account": ACCOUNT, "preventDelete": True}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": stated}


def _stream(spec: StreamSpec) -> dict[str, Any]:
    stated = {
        "name": spec.name,
        "subjects": list(spec.subjects),
        "retention": spec.retention.value,
        "storage": spec.storage.value,
        "discard": spec.discard.value,
        "discardPerSubject": spec.discard_new_per_subject,
        "maxMsgs": spec.max_msgs or -1,
        "maxBytes": spec.max_bytes or -1,
        "maxMsgsPerSubject": spec.max_msgs_per_subject or -1,
        "duplicateWindow": _duration(spec.duplicates_s),
        "allowDirect": spec.allow_direct,
    }
    if spec.max_age_s is not None:
        stated["maxAge"] = _duration(spec.max_age_s)
    if spec.republish is not None:
        stated["republish"] = {"source": spec.republish[0], "destination": spec.republish[1]}
    return stated


def _bucket(spec: BucketSpec) -> dict[str, Any]:
    return {"bucket": spec.name, "history": 1, "maxBytes": spec.max_bytes, "storage": "file"}


def _consumer(spec: ConsumerSpec) -> dict[str, Any]:
    return {
        "streamName": spec.stream,
        "durableName": spec.durable,
        "filterSubject": spec.filter_subject,
        "deliverPolicy": "all",
        "ackPolicy": "explicit",
        "ackWait": _duration(spec.ack_wait_s),
        "maxDeliver": spec.max_deliver,
        "maxAckPending": spec.max_ack_pending,
        "maxWaiting": spec.max_waiting,
    }


def _duration(seconds: float) -> str:
    """As Go reads it."""
    return f"{round(seconds * 1e3)}ms"
