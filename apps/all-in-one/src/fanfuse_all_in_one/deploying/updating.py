"""What exists on the bus with other settings is brought in line with contracts, where somebody says so.

In: a connection as the setup step's user. Out: what was changed, and what was not and why. Messages are given up only
of what the caller names.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nats.aio.client import Client
from nats.js.errors import APIError

from fanfuse_contracts import streams
from fanfuse_contracts.permissions import stream_of_bucket
from fanfuse_contracts.streams import BucketSpec, ConsumerSpec, StreamSpec
from fanfuse_runtime.setup import (
    CONSUMER_FIELDS,
    STREAM_FIELDS,
    Rights,
    SetupMismatchError,
    consumer_config,
    ensure_bucket,
    ensure_consumer,
    ensure_stream,
    stream_config,
)

_Spec = StreamSpec | BucketSpec | ConsumerSpec
_TIMEOUT_S: Final = 10.0
_NEVER_IN_PLACE: Final = frozenset({"retention", "storage", "ack_policy", "max_waiting"})
"""Settings that nats-server changes in no stream and no consumer; the rest it refuses for a reason it names."""
_CEILINGS: Final = {"max_msgs": "messages", "max_bytes": "bytes"}


@dataclass(frozen=True, slots=True)
class Change:
    """One stream, bucket or consumer that differed."""

    name: str
    differences: tuple[str, ...]
    kept: str = ""
    """Why it is as it was; empty: it is as declared now."""


def name_of(spec: _Spec) -> str:
    """How the command names it: `QUERIES`, `corpora`, `QUERIES/fuser`."""
    return f"{spec.stream}/{spec.durable}" if isinstance(spec, ConsumerSpec) else spec.name


async def update_all(
    client: Client, pools: Iterable[ConsumerSpec], rights: Rights, losing: frozenset[str]
) -> list[Change]:
    """Create what is missing and change what differs. `losing`: names whose messages may be given up for it.

    Raises as `ensure_topology` does, but for differences.
    """
    declared: tuple[_Spec, ...] = (*streams.STREAMS, *streams.BUCKETS, *streams.CONSUMERS, *pools)
    changes = []
    for spec in declared:
        try:
            await _ensure(client, spec, rights)
        except SetupMismatchError as error:
            kept = await _changed(client, spec, rights, losing=name_of(spec) in losing)
            changes.append(Change(name_of(spec), error.differences, kept))
    return changes


async def _ensure(client: Client, spec: _Spec, rights: Rights) -> None:
    js = client.jetstream()
    match spec:
        case StreamSpec():
            await ensure_stream(js, spec, rights)
        case BucketSpec():
            await ensure_bucket(js, spec, rights)
        case ConsumerSpec():
            await ensure_consumer(js, spec, rights)


async def _changed(client: Client, spec: _Spec, rights: Rights, *, losing: bool) -> str:
    """Change one of them; returns why not, or nothing."""
    found = await _found(client, spec)
    wanted = _wanted(spec, found["config"], rights)
    lost = [] if isinstance(spec, ConsumerSpec) else _lost(wanted, found)
    if lost and not losing:
        return f"{' and '.join(lost)} would be deleted; `--losing {name_of(spec)}` accepts that"
    try:
        await _apply(client, spec, wanted)
    except APIError as error:
        return await _made_anew(client, spec, rights, wanted, found, str(error.description), losing=losing)
    await _ensure(client, spec, rights)
    return ""


async def _made_anew(
    client: Client,
    spec: _Spec,
    rights: Rights,
    wanted: dict[str, Any],
    found: dict[str, Any],
    why: str,
    *,
    losing: bool,
) -> str:
    """Only where the server could never change it in place: what it refuses for now would fail after a deletion too."""
    fixed = sorted(one for one in _NEVER_IN_PLACE if wanted.get(one) != found["config"].get(one))
    if not fixed:
        return f"the server refuses it: {why}"
    if not losing:
        what = (
            "its count of deliveries"
            if isinstance(spec, ConsumerSpec)
            else f"its {found['state']['messages']} messages"
        )
        return f"{', '.join(fixed)} can't change in place; `--losing {name_of(spec)}` makes it anew, without {what}"
    js = client.jetstream()
    if isinstance(spec, ConsumerSpec):
        await js.delete_consumer(spec.stream, spec.durable)
    else:
        await js.delete_stream(_stream_of(spec))
    await _ensure(client, spec, rights)
    return ""


def _stream_of(spec: _Spec) -> str:
    match spec:
        case BucketSpec():
            return stream_of_bucket(spec)
        case ConsumerSpec():
            return spec.stream
        case StreamSpec():
            return spec.name


async def _found(client: Client, spec: _Spec) -> dict[str, Any]:
    """As the server tells it: nats-py leaves out when the oldest message came, and settings it does not know."""
    at = (
        f"CONSUMER.INFO.{spec.stream}.{spec.durable}"
        if isinstance(spec, ConsumerSpec)
        else f"STREAM.INFO.{_stream_of(spec)}"
    )
    reply = await client.request(f"$JS.API.{at}", b"", timeout=_TIMEOUT_S)
    found: dict[str, Any] = json.loads(reply.data)
    return found


def _wanted(spec: _Spec, found: dict[str, Any], rights: Rights) -> dict[str, Any]:
    """The found settings with those of contracts over them, durations in nanoseconds as the server has them."""
    copies = {"num_replicas": max(rights.replicas, found.get("num_replicas", 1))}
    match spec:
        case StreamSpec():
            return _over(found, stream_config(spec).as_dict(), (*STREAM_FIELDS, "republish")) | copies
        case BucketSpec():
            return {**found, **copies}
        case ConsumerSpec():
            return _over(found, consumer_config(spec).as_dict(), CONSUMER_FIELDS)


def _over(found: dict[str, Any], stated: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    kept = {key: value for key, value in found.items() if key not in fields}
    return kept | {key: stated[key] for key in fields if key in stated}


async def _apply(client: Client, spec: _Spec, wanted: dict[str, Any]) -> None:
    if isinstance(spec, ConsumerSpec):
        at = f"CONSUMER.DURABLE.CREATE.{spec.stream}.{spec.durable}"
        asked = {"stream_name": spec.stream, "config": wanted}
    else:
        at, asked = f"STREAM.UPDATE.{_stream_of(spec)}", wanted
    reply = await client.request(f"$JS.API.{at}", json.dumps(asked).encode(), timeout=_TIMEOUT_S)
    if error := json.loads(reply.data).get("error"):
        raise APIError.from_error(error)


def _lost(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What of a stream the server deletes for these settings."""
    state, config = found["state"], found["config"]
    rows = [
        f"{state[held] - wanted[limit]:,} {held} over {limit}"
        for limit, held in _CEILINGS.items()
        if 0 < wanted.get(limit, -1) < state[held]
    ]
    if state["messages"] and _is_older(state["first_ts"], wanted.get("max_age") or 0):
        rows.append("messages older than max_age")
    per_subject, had = wanted.get("max_msgs_per_subject", -1), config.get("max_msgs_per_subject", -1)
    if state["messages"] and per_subject > 0 and not 0 < had <= per_subject:
        rows.append("messages over max_msgs_per_subject")
    return rows


def _is_older(stored_at: str, age_ns: int) -> bool:
    # To the second: the server tells nanoseconds, which datetime does not read.
    stored = datetime.fromisoformat(stored_at[:19]).replace(tzinfo=UTC)
    return age_ns > 0 and datetime.now(UTC) - stored > timedelta(microseconds=age_ns / 1e3)
