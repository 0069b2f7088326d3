"""Dead letters: what no retry can help is kept for operators, with its reason and its headers."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime

from fanfuse_contracts import flow, metrics, subjects
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.headers import PRINCIPAL
from fanfuse_contracts.operations import DeadLetter
from fanfuse_contracts.tokens import InvalidTokenError, check_token
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.masking import mask, masked
from fanfuse_runtime.metrics import Metrics

UNKNOWN_TENANT = "unknown"
_MAX_DETAIL = 2_000
MAX_PAYLOAD_BYTES = 512 * 1024
"""Of a longer message only the beginning is kept."""
UNDECODABLE = "undecodable"
MAX_UNDECODABLE_BYTES = 64 * 1024
"""The same of what can't be read: anybody can send a lot of it."""


def tenant_of(subject: str) -> str:
    """Tenant of any stored subject of the flow; `unknown` where it has none."""
    tokens = subject.removeprefix(f"{subjects.ROOT}.").split(".")
    position = {"query": 2, "retrieve": 3, "retrieved": 1}.get(tokens[0], len(tokens))
    try:
        return check_token(tokens[position])
    except (IndexError, InvalidTokenError):
        return UNKNOWN_TENANT


def kept_bytes(reason: str) -> int:
    """How much of a message is kept that was given up for this reason."""
    return MAX_UNDECODABLE_BYTES if reason == UNDECODABLE else MAX_PAYLOAD_BYTES


async def publish_dead_letter(
    bus: Bus,
    metrics_: Metrics,
    *,
    stage: Stage,
    stream: str,
    sequence: int,
    subject: str,
    data: bytes,
    headers: Mapping[str, str],
    deliveries: int,
    reason: str,
    detail: str = "",
) -> None:
    """Store one dead letter; the same message (stream and sequence) is stored once."""
    tenant = tenant_of(subject)
    letter = DeadLetter(
        stage=stage,
        tenant=tenant,
        subject=subject,
        reason=reason,
        detail=mask(detail)[:_MAX_DETAIL],
        deliveries=deliveries,
        headers=masked({name: value for name, value in headers.items() if name.casefold() != PRINCIPAL.casefold()}),
        payload_base64=base64.b64encode(data[: kept_bytes(reason)]).decode(),
        at=datetime.fromtimestamp(bus.now_ns() / 1e9, UTC).isoformat(),
    )
    stored = await bus.publish(
        flow.DEADLETTER, subjects.deadletter(stage, tenant), letter, f"deadletter.{stream}.{sequence}"
    )
    if not stored.duplicate:
        metrics_.inc(metrics.DEADLETTERS_TOTAL, stage=stage.value)
