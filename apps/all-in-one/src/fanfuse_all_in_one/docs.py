"""Generates pages of docs/ from contracts and settings: `python -m fanfuse_all_in_one.docs [--check]`.

In: tables and models. Out: flow.md, asyncapi.json and configuration.md, or with --check exit code 1 and the names of
the stale ones. Nothing in them is kept by hand.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fanfuse_all_in_one.asyncapi import address_of, build_asyncapi
from fanfuse_all_in_one.configuration_docs import render_configuration
from fanfuse_all_in_one.markdown import table
from fanfuse_contracts import limits, tracing
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.flow import AUDITED, CHANNELS, DEADLETTER, HEARTBEAT, QUALITY, SERVER, Channel, Delivery
from fanfuse_contracts.metrics import METRICS, MetricSpec, Open
from fanfuse_contracts.streams import BUCKETS, CONSUMERS, STREAMS, ConsumerSpec, StreamSpec, pool_consumer
from fanfuse_contracts.tracing import SpanSpec

_HEAD = """# The flow

Generated from `contracts` by `make docs`; `make check` fails when it is stale. What every subject, stream and limit is
for is said in [contracts/src/fanfuse_contracts](../contracts/src/fanfuse_contracts); the same as AsyncAPI 3.0 is
[asyncapi.json](asyncapi.json).
"""
_ABOUT_PICTURE = (
    "A dashed arrow is a message the server republishes after storing it. Left out: heartbeats, audit, quality and "
    "dead letters."
)
_ABOUT_CONSUMERS = (
    "Each is durable, pulled, and acknowledged after the effect. `<pool>` is any pool of workers; `ack wait` starts "
    "anew with every report of progress."
)
_ABOUT_TRACES = (
    "One trace per query, in W3C trace context through the headers; a test walks real traces to prove this table. No "
    "name and no attribute holds a query id, a user or a text."
)
_NOT_IN_PICTURE = frozenset({HEARTBEAT.name, AUDITED.name, QUALITY.name, DEADLETTER.name})


def render_flow() -> str:
    """The Markdown page."""
    buckets = ((f"`{bucket.name}`", _size(bucket.max_bytes)) for bucket in BUCKETS)
    sections = {
        "Picture": f"{_ABOUT_PICTURE}\n\n{_picture()}",
        "Subjects": _channel_table(),
        "Streams": _stream_table(),
        "Consumers": f"{_ABOUT_CONSUMERS}\n\n{_consumer_table()}",
        "Key-value buckets": table(("bucket", "at most"), buckets),
        "Limits and defaults": _limit_table(),
        "Metrics": table(("metric", "type", "labels", "what"), map(_metric_row, METRICS)),
        "Traces": f"{_ABOUT_TRACES}\n\n{_trace_table()}",
    }
    return "\n".join((_HEAD, *(f"## {title}\n\n{body}" for title, body in sections.items())))


def _picture() -> str:
    drawn = [channel for channel in CHANNELS if channel.name not in _NOT_IN_PICTURE]
    arrows = [arrow for channel in drawn for arrow in _arrows(channel)]
    return "\n".join(("```mermaid", "flowchart LR", *(f"  {arrow}" for arrow in arrows), "```", ""))


def _arrows(channel: Channel) -> list[str]:
    source, line = (SERVER, "-.->") if channel.delivery is Delivery.REPUBLISHED else ("", "-->")
    if not channel.subscribers:
        return [f"{who} -->|{channel.name}| {SERVER}" for who in channel.publishers]
    senders = (source,) if source else channel.publishers
    return [f"{sender} {line}|{channel.name}| {who}" for sender in senders for who in channel.subscribers]


def _channel_table() -> str:
    def row(channel: Channel) -> tuple[str, ...]:
        message = f"`{channel.message.__name__}`" if channel.message else "(empty)"
        reply = f" → `{channel.reply.__name__}`" if channel.reply else ""
        how = channel.delivery.value + (f", {channel.stream}" if channel.stream else "")
        who = f"{', '.join(channel.publishers)} → {', '.join(channel.subscribers) or 'stored'}"
        return f"`{address_of(channel)}`", message + reply, how, who, channel.what

    return table(("subject", "message", "delivery", "who → whom", "what"), map(row, CHANNELS))


def _stream_table() -> str:
    def row(stream: StreamSpec) -> tuple[str, ...]:
        return (
            stream.name,
            ", ".join(f"`{subject}`" for subject in stream.subjects),
            f"{stream.retention.value}, {stream.storage.value}, discard {stream.discard.value}",
            "; ".join(_stream_limits(stream)),
            f"`{stream.republish[1]}`" if stream.republish else "",
        )

    return table(("stream", "subjects", "policy", "limits", "republishes to"), map(row, STREAMS))


def _stream_limits(stream: StreamSpec) -> Iterable[str]:
    if stream.max_msgs is not None:
        yield f"{stream.max_msgs:,} messages"
    if stream.max_bytes is not None:
        yield _size(stream.max_bytes)
    if stream.max_age_s is not None:
        yield f"{stream.max_age_s:,.0f} s"
    if stream.max_msgs_per_subject is not None:
        refuses = ", a second one is refused" if stream.discard_new_per_subject else ""
        yield f"{stream.max_msgs_per_subject} per subject{refuses}"
    yield f"duplicates {stream.duplicates_s:,.0f} s"


def _consumer_table() -> str:
    pools = [pool_consumer(kind, "pool") for kind in Kind]

    def row(consumer: ConsumerSpec) -> tuple[str, ...]:
        shown = [value.replace("-pool", "-<pool>").replace(".pool.", ".<pool>.") for value in _names(consumer)]
        delivery = f"ack wait {consumer.ack_wait_s:g} s, at most {consumer.max_deliver} deliveries"
        return (*(f"`{value}`" for value in shown), delivery, f"{consumer.max_ack_pending:,} pending")

    return table(("stream", "durable", "filter", "delivery", "at most"), map(row, (*CONSUMERS, *pools)))


def _names(consumer: ConsumerSpec) -> tuple[str, str, str]:
    return consumer.stream, consumer.durable, consumer.filter_subject


def _limit_table() -> str:
    rows = ((f"`{name}`", _value(value)) for name, value in vars(limits).items() if name.isupper())
    return table(("limit", "value"), rows)


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_value(part) for part in value)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:g}"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)


def _size(count: int) -> str:
    return f"{count // 1024 // 1024:,} MiB"


def _metric_row(spec: MetricSpec) -> tuple[str, ...]:
    labels = (
        f"`{label}`: {values.value if isinstance(values, Open) else ', '.join(values)}" for label, values in spec.labels
    )
    return f"`{spec.name}`", spec.kind.value, "; ".join(labels), spec.help


def _trace_table() -> str:
    def row(spec: SpanSpec) -> tuple[str, ...]:
        linked = f"; linked to `{tracing.LINKS[spec.name]}`" if spec.name in tracing.LINKS else ""
        parent = tracing.EDGES[spec.name]
        under = parent if parent == tracing.CALLER else f"`{parent}`"
        always = ", ".join(f"`{name}`" for name in spec.attributes)
        sometimes = ", ".join(f"`{name}`" for name in spec.sometimes)
        return f"`{spec.name}`", under + linked, spec.per, always, sometimes

    return table(("span", "under", "one per", "attributes", "attributes of some"), map(row, tracing.SPANS))


def render_all() -> dict[str, str]:
    """File name to content."""
    return {
        "flow.md": render_flow(),
        "configuration.md": render_configuration(),
        "asyncapi.json": json.dumps(build_asyncapi(), indent=2, ensure_ascii=False) + "\n",
    }


def main(arguments: Sequence[str]) -> int:
    """Write the files, or compare them; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fanfuse_all_in_one.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is stale")
    parser.add_argument("--folder", type=Path, default=Path("docs"), help="where the files are (default: docs)")
    options = parser.parse_args(arguments)
    stale = [name for name, content in render_all().items() if _differs(options.folder / name, content)]
    if options.check:
        sys.stderr.write("".join(f"{options.folder / name} is stale: run make docs\n" for name in stale))
        return 1 if stale else 0
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (options.folder / name).write_text(render_all()[name], encoding="utf-8")
    return 0


def _differs(path: Path, content: str) -> bool:
    return not path.exists() or path.read_text(encoding="utf-8") != content


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
