"""What a retry of a dead letter sends, and when it is refused."""

import base64
import json

import pytest

from fanfuse_all_in_one import retrying
from fanfuse_all_in_one.retrying import NotRetriedError, addressed, plan_anew, plan_retry
from fanfuse_contracts import subjects
from fanfuse_contracts.classification import QueryClassified, QueryShape
from fanfuse_contracts.enums import Kind, Shape, Stage
from fanfuse_contracts.operations import DeadLetter
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.query import AcceptedQuery, Principal
from fanfuse_runtime import deadletters

S = 1_000_000_000
QUERY = b'{"text":"holiday","top_k":3}'


def letter_of(stage: Stage, subject: str, data: bytes, headers: dict[str, str] | None = None) -> DeadLetter:
    return DeadLetter(
        stage=stage,
        tenant="acme",
        subject=subject,
        reason="max_deliveries",
        deliveries=5,
        headers=headers or {},
        payload_base64=base64.b64encode(data).decode(),
        at="2026-01-01T00:00:00+00:00",
    )


def submitted(data: bytes = QUERY, headers: dict[str, str] | None = None) -> DeadLetter:
    return letter_of(Stage.CLASSIFIER, subjects.query_submitted("acme", "q1"), data, headers)


def classified(submitted_ns: int) -> DeadLetter:
    event = QueryClassified(
        tenant="acme",
        query_id="q1",
        query=AcceptedQuery(text="holiday", principal=Principal(id="anna")),
        submitted_ns=submitted_ns,
        classification=QueryShape(shape=Shape.MIXED, reason="test"),
    )
    return letter_of(Stage.CORPUS_ROUTER, subjects.query_classified("acme", "q1"), event.to_json())


def command(submitted_ns: int) -> DeadLetter:
    made = RetrieveCommand(
        tenant="acme",
        query_id="q1",
        lane="l1",
        corpus="docs",
        kind=Kind.KEYWORD,
        backend="main",
        text="holiday",
        window=10,
        filter_digest="",
        submitted_ns=submitted_ns,
        budget_ms=2_000,
    )
    data = json.dumps(json.loads(made.to_json()) | {"of_a_newer_version": 1}).encode()
    headers = {"Nats-Msg-Id": "acme.q1.corpus-router.l1.0"}
    return letter_of(Stage.BACKEND_WORKERS, subjects.retrieve(Kind.KEYWORD, "main", "acme", "docs"), data, headers)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, "acme.q1.submitted.1"),
        ({"Nats-Msg-Id": "acme.q1.submitted.0"}, "acme.q1.submitted.1"),
        ({"nats-msg-id": "acme.q1.submitted.41"}, "acme.q1.submitted.42"),
        ({"Nats-Msg-Id": "chosen-by-the-caller.7"}, "acme.q1.submitted.1"),
        ({"Nats-Msg-Id": "globex.q1.submitted.7"}, "acme.q1.submitted.1"),
        ({"Nats-Msg-Id": "acme.q1.submitted.²"}, "acme.q1.submitted.1"),
    ],
)
def test_the_attempt_rises_and_an_id_is_never_used_again(headers, expected):
    letter = submitted(headers=headers)

    assert plan_retry(letter, addressed(letter), None, 0).message_id == expected


def test_the_message_and_its_headers_stay_but_no_token_and_nothing_that_steers_the_server():
    headers = {"traceparent": "00-1-2-01", "X-Own": "1", "Fanfuse-Principal": "token", "Nats-Expected-Last-Msg-Id": "x"}
    letter = submitted(headers=headers)
    sent = plan_retry(letter, addressed(letter), None, 0)

    assert sent.data == QUERY
    assert sent.subject == letter.subject
    assert sent.headers == {"traceparent": "00-1-2-01", "X-Own": "1", "Nats-Msg-Id": "acme.q1.submitted.1"}
    assert sent.notes == (retrying.NO_PRINCIPAL,)


def test_a_command_carries_the_attempt_itself_and_keeps_fields_it_does_not_know():
    letter = command(submitted_ns=10 * S)
    sent = plan_retry(letter, addressed(letter), None, 11 * S)

    assert sent.message_id == "acme.q1.corpus-router.l1.1"
    assert RetrieveCommand.from_json(sent.data).attempt == 1
    assert json.loads(sent.data)["of_a_newer_version"] == 1


@pytest.mark.parametrize("make", [submitted, lambda: classified(10 * S), lambda: command(10 * S)])
def test_what_belongs_to_an_answered_query_is_not_sent_again(make):
    letter = make()

    with pytest.raises(NotRetriedError, match=r"query q1 of acme is answered \(failed\)"):
        plan_retry(letter, addressed(letter), "failed", 11 * S)


@pytest.mark.parametrize("make", [classified, command])
def test_a_spent_budget_is_not_spent_again(make):
    letter = make(10 * S)

    assert plan_retry(letter, addressed(letter), None, 11 * S).subject == letter.subject
    with pytest.raises(NotRetriedError, match="was spent 8 s ago"):
        plan_retry(letter, addressed(letter), None, 20 * S)


@pytest.mark.parametrize("make", [submitted, lambda: classified(10 * S)])
def test_a_query_can_be_asked_anew(make):
    letter = make()
    sent = plan_anew(letter, addressed(letter), "q2")

    assert sent.subject == subjects.query_submitted("acme", "q2")
    assert sent.message_id.startswith("acme.q2.submitted.")
    assert sent.message_id != plan_anew(letter, addressed(letter), "q2").message_id
    assert json.loads(sent.data)["text"] == "holiday"


def test_the_stated_principal_goes_with_it_unsigned():
    letter = classified(10 * S)
    sent = plan_anew(letter, addressed(letter), "q2")

    assert json.loads(sent.data)["principal"]["id"] == "anna"
    assert sent.notes == (retrying.UNSIGNED,)


def test_a_lane_is_no_query():
    letter = command(10 * S)
    with pytest.raises(NotRetriedError, match="one lane is no query"):
        plan_anew(letter, addressed(letter), "q2")


@pytest.mark.parametrize(
    ("letter", "says"),
    [
        (submitted(b'{"top_k":3}'), "still can't be read (text: Field required)"),
        (submitted(b"x" * deadletters.MAX_PAYLOAD_BYTES), "cut off: only its first 512 KiB"),
        (
            submitted(b"x" * deadletters.MAX_UNDECODABLE_BYTES).model_copy(update={"reason": deadletters.UNDECODABLE}),
            "cut off: only its first 64 KiB",
        ),
        (letter_of(Stage.CLASSIFIER, "fanfuse.v1.query.submitted.ACME.q1", QUERY), "names no tenant"),
        (letter_of(Stage.HEALTH, "$JS.EVENT", b"{}"), "no message of a query"),
    ],
)
def test_what_nobody_can_handle_is_not_sent_again(letter, says):
    with pytest.raises(NotRetriedError) as error:
        addressed(letter)
    assert says in str(error.value)
