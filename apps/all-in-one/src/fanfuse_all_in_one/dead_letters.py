"""Dead letters on the bus, for operators: list, read, send again, drop. A letter's id is its sequence in the stream.

In: ids and filters. Out: letters. What is sent again or dropped is logged with who did it, never a message's text.
"""

import getpass
from collections import deque
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.api import ConsumerConfig
from nats.js.errors import APIError, NotFoundError
from pydantic import ValidationError

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.retrying import Resend, addressed, plan_anew, plan_retry
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.operations import DeadLetter
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.logs import get_logger

T = TypeVar("T")

_log = get_logger("operator")
_STREAM: Final = streams.DEADLETTER.name
_NEXT_TIMEOUT_S: Final = 5.0
_GONE: Final = frozenset({10043, 10057})
"""What the server says to the deletion of a message that is gone: between others, or at the end of the stream."""


class UnknownLetterError(OperatorError):
    """There is no such dead letter."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter and its id."""

    id: int
    content: DeadLetter


@dataclass(frozen=True, slots=True)
class Found:
    """What a listing found, oldest first."""

    letters: tuple[Letter, ...]
    unreadable: tuple[int, ...]
    """Ids of letters of another version."""
    matching: int
    """How many match, of which the last are listed."""


async def list_letters(bus: Bus, *, tenant: str | None, stage: Stage | None, last: int) -> Found:
    """The last letters of a tenant and a stage. Raises `TimeoutError`."""
    matching, ids = await _matching(bus, tenant, stage, last)
    letters, unreadable = [], []
    for each in ids:
        try:
            letters.append(await read_letter(bus, each))
        except UnknownLetterError:
            continue  # dropped meanwhile
        except OperatorError:
            unreadable.append(each)
    return Found(tuple(letters), tuple(unreadable), matching)


async def read_letter(bus: Bus, letter_id: int) -> Letter:
    """Raises `UnknownLetterError`, or `OperatorError` for one of another version."""
    message = await _found(bus.js.get_msg(_STREAM, letter_id, direct=True))
    if message is None:
        raise UnknownLetterError(f"there is no dead letter {letter_id}: see `fanfuse deadletter list`")
    try:
        return Letter(letter_id, DeadLetter.from_json(message.data or b""))
    except ValidationError as error:
        raise OperatorError(f"dead letter {letter_id} is of another version of fanfuse: drop it, or update") from error


async def retry_letter(bus: Bus, letter_id: int, new_query_id: str | None = None) -> Resend:
    """Send a letter's message again and drop the letter; with `new_query_id` its query, under that id.

    Raises `UnknownLetterError`, `NotRetriedError`. Broken off between the two, it is repeated without harm: the message
    id is the same.
    """
    content = (await read_letter(bus, letter_id)).content
    of = addressed(content)
    if new_query_id is None:
        answered = await _answered(bus, of.tenant, of.query_id)
        resend = plan_retry(content, of, answered, bus.now_ns())
    else:
        resend = plan_anew(content, of, new_query_id)
    await _publish(bus, resend)
    await _found(bus.js.delete_msg(_STREAM, letter_id))
    _log.info(
        "deadletter.retried", letter=letter_id, by=getpass.getuser(), stage=content.stage.value, tenant=resend.tenant,
        query_id=resend.query_id, subject=resend.subject, message_id=resend.message_id,
    )  # fmt: skip
    return resend


async def drop_letter(bus: Bus, letter_id: int) -> None:
    """Delete a letter for good, readable or not. Raises `UnknownLetterError`."""
    if not await _found(bus.js.delete_msg(_STREAM, letter_id)):
        raise UnknownLetterError(f"there is no dead letter {letter_id}: see `fanfuse deadletter list`")
    _log.info("deadletter.dropped", letter=letter_id, by=getpass.getuser())


async def _matching(bus: Bus, tenant: str | None, stage: Stage | None, last: int) -> tuple[int, Sequence[int]]:
    """How many letters match, and the ids of the last of them; only their headers travel."""
    stages = tuple(Stage) if stage is None else (stage,)
    ids: deque[int] = deque(maxlen=last)
    matching = 0
    state = (await bus.js.stream_info(_STREAM)).state
    if not state.messages:
        return 0, ids
    subscription = await bus.js.subscribe(
        subjects.DEADLETTER, stream=_STREAM, ordered_consumer=True, config=ConsumerConfig(headers_only=True)
    )
    try:
        left = 1
        while left:
            message = await subscription.next_msg(timeout=_NEXT_TIMEOUT_S)
            left = message.metadata.num_pending
            owner = subjects.parse_tenant(message.subject) if tenant is None else tenant
            if message.subject in {subjects.deadletter(each, owner) for each in stages}:
                matching += 1
                ids.append(message.metadata.sequence.stream)
    except NatsTimeoutError as error:
        raise TimeoutError("the dead letters can't be read") from error
    finally:
        await subscription.unsubscribe()
    return matching, ids


async def _answered(bus: Bus, tenant: str, query_id: str) -> str | None:
    stored = await bus.last(streams.ANSWERS.name, subjects.query_fused(tenant, query_id))
    if stored is None:
        return None
    try:
        return Answer.from_json(stored.data).status.value
    except ValidationError:
        return "by another version of fanfuse"


async def _publish(bus: Bus, resend: Resend) -> None:
    try:
        await bus.js.publish(resend.subject, resend.data, headers=dict(resend.headers))
    except NatsError as error:
        why = str(error) or type(error).__name__
        raise OperatorError(f"it was not accepted ({why}) and the letter is kept: try again later") from error


async def _found(call: Awaitable[T]) -> T | None:
    try:
        return await call
    except NotFoundError:
        return None
    except APIError as error:
        if error.err_code in _GONE:
            return None
        raise OperatorError(f"the dead letters can't be reached: {error}") from error
    except NatsError as error:
        raise OperatorError(f"the dead letters can't be reached: {str(error) or type(error).__name__}") from error
