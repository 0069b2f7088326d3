"""Reads what the bus holds about one query.

In: tenant and query id. Out: an `Explanation`. It changes nothing, and works without the audit.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError
from pydantic import ValidationError

from fanfuse_all_in_one.explanation import Explanation, explain
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import headers, limits, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.operations import RouteAudited
from fanfuse_runtime.bus import Bus

_STREAM: Final = streams.AUDIT.name
_NEXT_TIMEOUT_S: Final = 5.0
_BEFORE: Final = timedelta(seconds=1)
_ROUTED_WITHIN: Final = timedelta(milliseconds=limits.MAX_BUDGET_MS, seconds=60)
"""A query is routed within its budget; the rest is for redeliveries after a crash."""


class UnknownQueryError(OperatorError):
    """There is no stored answer under this tenant and query id."""


async def explain_query(bus: Bus, tenant: str, query_id: str) -> Explanation:
    """Raises `UnknownQueryError`, or `OperatorError` for an answer of another version."""
    stored = await bus.last(streams.ANSWERS.name, subjects.query_fused(tenant, query_id))
    if stored is None:
        hours = limits.ANSWERS_MAX_AGE_S / 3600
        raise UnknownQueryError(
            f"tenant {tenant} has no stored answer for query {query_id}: answers are kept for {hours:.0f} hours; "
            "check the id and the tenant, or wait if it was only just asked"
        )
    try:
        answer = Answer.from_json(stored.data)
    except ValidationError as error:
        raise OperatorError(f"the answer of query {query_id} is of another version of fanfuse: update it") from error
    audited = await _audited(bus, tenant, query_id, answer.submitted_ns or stored.stored_ns)
    return explain(answer, stored.stored_ns, audited)


async def _audited(bus: Bus, tenant: str, query_id: str, submitted_ns: int) -> RouteAudited | None:
    """The decision in the audit, looked for from the moment of submission on; None if it is not there."""
    sequence = await _sequence(bus, tenant, streams.message_id(tenant, query_id, Stage.CORPUS_ROUTER), submitted_ns)
    if sequence is None:
        return None
    try:
        message = await bus.js.get_msg(_STREAM, sequence)
        return RouteAudited.from_json(message.data or b"")
    except (NatsError, ValidationError):
        return None  # aged out meanwhile, or of another version: the explanation says that it has no audit


async def _sequence(bus: Bus, tenant: str, message_id: str, submitted_ns: int) -> int | None:
    # Only headers travel: the message id names the query, so no plan has to be read to find one.
    since = datetime.fromtimestamp(submitted_ns / 1e9, UTC) - _BEFORE
    try:
        last = await bus.js.get_last_msg(_STREAM, subjects.audit(tenant))
    except NotFoundError:
        return None
    if last.seq is None or (last.time is not None and last.time < since):
        return None
    config = ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_TIME, opt_start_time=since, headers_only=True)
    subscription = await bus.js.subscribe(subjects.audit(tenant), stream=_STREAM, ordered_consumer=True, config=config)
    try:
        while True:
            message = await subscription.next_msg(timeout=_NEXT_TIMEOUT_S)
            sequence = message.metadata.sequence.stream
            if (message.headers or {}).get(headers.MESSAGE_ID) == message_id:
                return sequence
            if sequence >= last.seq or message.metadata.timestamp > since + _ROUTED_WITHIN:
                return None
    except NatsTimeoutError as error:
        raise OperatorError("the audit of decisions can't be read: try again") from error
    finally:
        await subscription.unsubscribe()
