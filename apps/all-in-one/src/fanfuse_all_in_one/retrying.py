"""What sending a dead letter's message again would be: a pure decision.

In: the letter, whether its query is answered, the time. Out: the message to publish, or `NotRetriedError` with what to
do instead. A retry never makes a second answer, never reuses a message id, and never carries a caller's token.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import headers as names
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.base import Model
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.operations import DeadLetter
from fanfuse_contracts.plan import QueryPlanned, RetrieveCommand
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_contracts.tokens import InvalidTokenError
from fanfuse_runtime.deadletters import kept_bytes

_OF_THE_SERVER: Final = "nats-"
_MAX_ATTEMPT_DIGITS: Final = 9
_SUBMITTED: Final = "submitted"
_ID_STAGE: Final = {
    Stage.CLASSIFIER: _SUBMITTED,
    Stage.CORPUS_ROUTER: Stage.CLASSIFIER.value,
    Stage.FUSER: Stage.CORPUS_ROUTER.value,
    Stage.BACKEND_WORKERS: Stage.CORPUS_ROUTER.value,
}
"""Who published what a stage consumes, as message ids name it."""
_MODEL: Final[Mapping[Stage, type[Model]]] = {
    Stage.CLASSIFIER: SubmittedQuery,
    Stage.CORPUS_ROUTER: QueryClassified,
    Stage.FUSER: QueryPlanned,
    Stage.BACKEND_WORKERS: RetrieveCommand,
}
NO_PRINCIPAL: Final = "it states no principal (a signed token is never kept): only public corpora are visible to it"
UNSIGNED: Final = "its principal is stated, not signed: a tenant that requires a signature refuses it"


class NotRetriedError(OperatorError):
    """A dead letter was left as it is."""


@dataclass(frozen=True, slots=True)
class Resend:
    """A message to publish."""

    tenant: str
    query_id: str
    subject: str
    data: bytes
    headers: Mapping[str, str]
    """With the new message id."""
    notes: tuple[str, ...] = ()
    """What the operator should know about it."""

    @property
    def message_id(self) -> str:
        """Its deduplication id."""
        return self.headers[names.MESSAGE_ID]


@dataclass(frozen=True, slots=True)
class Addressed:
    """Whose message a letter holds, with the message itself."""

    stage: Stage
    tenant: str
    query_id: str
    message: Model


def addressed(letter: DeadLetter) -> Addressed:
    """Read the message of a letter; raises `NotRetriedError` if nobody could handle it today either."""
    data = payload(letter)
    model = _MODEL.get(letter.stage)
    if model is None:
        raise NotRetriedError(f"what the {letter.stage.value} gave up is no message of a query: drop the letter")
    kept = kept_bytes(letter.reason)
    if len(data) >= kept:  # it may have been cut off
        raise NotRetriedError(f"its payload may be cut off: only its first {kept >> 10} KiB are kept")
    try:
        message = model.from_json(data)
        if isinstance(message, RetrieveCommand):
            tenant, query_id = subjects.parse_tenant_corpus(letter.subject)[0], message.query_id
        else:
            tenant, query_id = subjects.parse_query(letter.subject)
    except ValidationError as error:
        row = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, row["loc"])) or "body"
        raise NotRetriedError(f"it still can't be read ({where}: {row['msg']}): its sender has to mend it") from error
    except InvalidTokenError as error:
        raise NotRetriedError(f"its subject names no tenant and query: {error}") from error
    return Addressed(letter.stage, tenant, query_id, message)


def payload(letter: DeadLetter) -> bytes:
    """The message as it was, up to the kept size."""
    return base64.b64decode(letter.payload_base64)


def plan_retry(letter: DeadLetter, of: Addressed, answered: str | None, now_ns: int) -> Resend:
    """The original message under the next attempt. `answered`: how its query is, None if it is not.

    Raises `NotRetriedError` where it could have no effect. `now_ns` is broker time.
    """
    if answered is not None:
        raise NotRetriedError(
            f"query {of.query_id} of {of.tenant} is answered ({answered}) and a query gets one answer: "
            f"nothing sent again could change it; {_instead(of)}"
        )
    _refuse_spent(of, now_ns)
    attempt, base = _attempt_before(letter, of)
    kept = {name: value for name, value in letter.headers.items() if _is_kept(name)}
    return Resend(
        tenant=of.tenant,
        query_id=of.query_id,
        subject=letter.subject,
        data=_raised(payload(letter), of, attempt + 1),
        headers=kept | {names.MESSAGE_ID: f"{base}.{attempt + 1}"},
        notes=_notes(of),
    )


def plan_anew(letter: DeadLetter, of: Addressed, query_id: str) -> Resend:
    """The letter's query as a new one, with a budget and an answer of its own; raises `NotRetriedError`."""
    if isinstance(of.message, RetrieveCommand):
        raise NotRetriedError("one lane is no query: only the message of a query can be asked under a new id")
    query = _query(of)
    return Resend(
        tenant=of.tenant,
        query_id=query_id,
        subject=subjects.query_submitted(of.tenant, query_id),
        data=query.to_json(),
        headers={names.MESSAGE_ID: streams.submission_id(of.tenant, query_id)},
        notes=_notes(of),
    )


def _instead(of: Addressed) -> str:
    return "drop the letter" if isinstance(of.message, RetrieveCommand) else "ask it as a new query with --new-id"


def _query(of: Addressed) -> SubmittedQuery:
    if isinstance(of.message, SubmittedQuery):
        return of.message
    assert isinstance(of.message, QueryClassified | QueryPlanned)
    return SubmittedQuery.from_json(of.message.query.to_json())


def _refuse_spent(of: Addressed, now_ns: int) -> None:
    """The budget of a submitted query begins anew; that of everything after it began when the query was submitted."""
    match of.message:
        case RetrieveCommand(submitted_ns=submitted_ns, budget_ms=budget_ms):
            pass
        case QueryClassified(submitted_ns=submitted_ns) | QueryPlanned(submitted_ns=submitted_ns):
            budget_ms = of.message.query.budget_ms
        case _:
            return
    over_s = (now_ns - submitted_ns) / 1e9 - budget_ms / 1e3
    if over_s > 0:
        raise NotRetriedError(
            f"the budget of query {of.query_id} ({budget_ms} ms) was spent {over_s:.0f} s ago: its stage would only "
            f"answer that it expired; {_instead(of)}"
        )


def _attempt_before(letter: DeadLetter, of: Addressed) -> tuple[int, str]:
    """Number of the last attempt, and the message id without it."""
    lane = of.message.lane if isinstance(of.message, RetrieveCommand) else None
    submitted_ns = of.message.submitted_ns if isinstance(of.message, QueryClassified | QueryPlanned) else None
    stage = _ID_STAGE[of.stage]
    own = streams.message_id(of.tenant, of.query_id, stage, lane, submitted_ns=submitted_ns).rpartition(".")[0]
    given = next((value for name, value in letter.headers.items() if _is(name, names.MESSAGE_ID)), "")
    base, _, number = given.rpartition(".")
    if base == own and number.isascii() and number.isdecimal() and len(number) <= _MAX_ATTEMPT_DIGITS:
        return int(number), own
    return 0, own


def _raised(data: bytes, of: Addressed, attempt: int) -> bytes:
    # A worker's reply takes its id from the command's attempt; fields of a newer version stay as they are.
    if not isinstance(of.message, RetrieveCommand):
        return data
    fields: dict[str, Any] = json.loads(data)
    return json.dumps(fields | {"attempt": attempt}, ensure_ascii=False).encode()


def _is_kept(name: str) -> bool:
    # What steers the server (expected sequences, roll-ups, ids) was meant for the first publication only.
    return not name.casefold().startswith(_OF_THE_SERVER) and not _is(name, names.PRINCIPAL)


def _is(name: str, header: str) -> bool:
    return name.casefold() == header.casefold()


def _notes(of: Addressed) -> tuple[str, ...]:
    if isinstance(of.message, RetrieveCommand):
        return ()
    return (NO_PRINCIPAL if _query(of).principal is None else UNSIGNED,)
