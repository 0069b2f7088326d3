"""Dead letters as an operator handles them: list, show, retry, drop, on a running installation."""

import asyncio
import base64
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fanfuse_all_in_one.databus import find_bus
from fanfuse_all_in_one.dead_letters import Letter, list_letters
from fanfuse_all_in_one.operating import operator_on
from fanfuse_client import Client
from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.operations import DeadLetter
from fanfuse_runtime.bus import Bus
from fanfuse_testing.flow import eventually

pytestmark = pytest.mark.slow

SECRET = "the caller's own words"


@pytest.fixture(scope="module", autouse=True)
def corpus(running, acme_docs):
    running.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--public")


def url_of(running) -> str:
    found = find_bus(running.data)
    assert found is not None
    return found.url


def on_bus(running, work: Callable[[Bus], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with operator_on(url_of(running), data_dir=running.data) as operator:
            return await work(operator.bus)

    return asyncio.run(run())


def letters(running) -> list[Letter]:
    async def read(bus: Bus) -> list[Letter]:
        return list((await list_letters(bus, tenant=None, stage=None, last=100)).letters)

    found: list[Letter] = on_bus(running, read)
    return found


def unreadable(running, tenant: str, query_id: str, data: bytes) -> int:
    """Publish what the classifier can't read; the id of its letter."""

    async def send(bus: Bus) -> int:
        await bus.js.publish(subjects.query_submitted(tenant, query_id), data)

        async def letter() -> list[int]:
            found = await list_letters(bus, tenant=tenant, stage=Stage.CLASSIFIER, last=100)
            return [one.id for one in found.letters if one.content.subject.endswith(f".{query_id}")]

        ids: list[int] = await eventually(letter)
        return ids[0]

    sent: int = on_bus(running, send)
    return sent


def given_up(running, query_id: str, text: str) -> int:
    """A good query that the classifier could not handle: its letter as the runtime writes it."""
    letter = DeadLetter(
        stage=Stage.CLASSIFIER,
        tenant="acme",
        subject=subjects.query_submitted("acme", query_id),
        reason="max_deliveries",
        detail="KeyError: 'broken'",
        deliveries=5,
        headers={"Nats-Msg-Id": streams.message_id("acme", query_id, "submitted")},
        payload_base64=base64.b64encode(json.dumps({"text": text}).encode()).decode(),
        at="2026-01-01T00:00:00+00:00",
    )

    async def send(bus: Bus) -> int:
        subject = subjects.deadletter(letter.stage, "acme")
        await bus.publish(flow.DEADLETTER, subject, letter, f"t.{query_id}")
        stored = await bus.last(streams.DEADLETTER.name, subject)
        assert stored is not None
        return stored.sequence

    sequence: int = on_bus(running, send)
    return sequence


def answer_of(running, query_id: str) -> Answer:
    """The stored answer; waits for it."""

    async def run() -> Answer:
        async with Client(url_of(running), "acme") as client:
            answer: Answer = await eventually(lambda: client.stored(query_id))
            return answer

    return asyncio.run(run())


def test_list_and_show_name_it_without_its_text_and_filters_are_exact(running):
    ours = unreadable(running, "acme", "bad1", json.dumps({"text": SECRET, "nope": 1}).encode())
    theirs = unreadable(running, "acme2", "bad1", b"no json")

    table = running.must_call("deadletter", "list")
    assert "undecodable" in table
    found = json.loads(running.must_call("deadletter", "list", "--tenant", "acme", "--json"))
    assert ours in {one["id"] for one in found}
    assert {one["tenant"] for one in found} == {"acme"}
    shown = running.must_call("deadletter", "show", str(ours))
    assert "nope" in shown
    assert SECRET not in table + shown + json.dumps(found)
    assert SECRET in running.must_call("deadletter", "show", str(ours), "--payload")
    last = json.loads(running.must_call("deadletter", "list", "--last", "1", "--json"))
    assert [one["id"] for one in last] == [theirs]
    assert json.loads(running.must_call("deadletter", "list", "--stage", "fuser", "--json")) == []


def test_what_nobody_can_read_and_what_is_answered_is_not_sent_again(running):
    bad = unreadable(running, "acme", "bad2", b'{"txt": "typo"}')
    asked = running.must_call("ask", "holiday", "--tenant", "acme", "--json")
    answered = given_up(running, Answer.from_json(asked.encode()).query_id, "holiday")
    refused = running.call("deadletter", "retry", str(bad), str(answered), "999999")

    assert refused.returncode == 1
    assert f"{bad}: it still can't be read (text: Field required)" in refused.stderr
    assert "is answered (complete)" in refused.stderr
    assert "--new-id" in refused.stderr
    assert "there is no dead letter 999999" in refused.stderr
    assert {bad, answered} <= {one.id for one in letters(running)}


def test_retry_sends_the_message_again_under_the_next_id_and_drops_the_letter(running):
    letter = given_up(running, "again1", "How many days of holiday do employees take?")
    done = running.fanfuse("deadletter", "retry", str(letter))

    assert done.returncode == 0, done.stderr
    assert "as acme.again1.submitted.1" in done.stdout
    assert "no principal" in done.stderr
    logged = next(json.loads(line) for line in done.stderr.splitlines() if "deadletter.retried" in line)
    assert logged["letter"] == letter
    assert "holiday" not in done.stdout + done.stderr
    assert letter not in {one.id for one in letters(running)}
    assert answer_of(running, "again1").hits[0].title == "Annual leave"


def test_new_id_asks_the_query_anew(running):
    letter = given_up(running, "again2", "When is the espresso machine cleaned?")
    done = running.must("deadletter", "retry", str(letter), "--new-id")
    query_id = re.search(r"\(query (\S+)\)", done)

    assert query_id is not None
    assert query_id[1] != "again2"
    assert answer_of(running, query_id[1]).hits[0].chunk_id.startswith("coffee")


def test_drop_deletes_and_an_unknown_id_is_said(running):
    letter = given_up(running, "drop1", "x")
    done = running.fanfuse("deadletter", "drop", str(letter), "999999")

    assert done.returncode == 1
    assert f"{letter}: dropped" in done.stdout
    assert "there is no dead letter 999999" in done.stderr
    assert "deadletter.dropped" in done.stderr
    assert running.call("deadletter", "show", str(letter)).returncode == 2
