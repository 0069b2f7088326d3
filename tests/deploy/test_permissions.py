"""NATS users on a real server: a matrix of what each may and may not do, the whole flow under them, and revoking one.

Both ways of keeping tenants apart (one account, an account per tenant) pass the same matrix and the same flow, and so
does a server that speaks TLS only.
"""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from pathlib import Path

import nats
import pytest
import yaml
from nats.aio.client import Client as NatsClient
from nats.errors import Error as NatsError

from fanfuse_all_in_one.dead_letters import drop_letter, list_letters
from fanfuse_all_in_one.deleting import delete_chunks
from fanfuse_all_in_one.deploying.nats_users import render_one_account
from fanfuse_all_in_one.explaining import explain_query
from fanfuse_all_in_one.indexing import Wish, index_corpus
from fanfuse_all_in_one.marking import mark_backend, probe_backend
from fanfuse_all_in_one.operating import Operator
from fanfuse_all_in_one.quality import read_quality
from fanfuse_client import Client
from fanfuse_client.errors import ClientError
from fanfuse_contracts import permissions, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import BackendHealth, Kind, Stage, Status
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_health.ports import BackendKey
from fanfuse_testing.flow import eventually, sample_chunk
from tests.deploy.restricted import POOLS, TENANTS, Installation, install

INSTALLATIONS: dict[str, Callable[[Path], Installation]] = {
    "account per tenant": install,
    "one account": partial(install, render=render_one_account),
    "account per tenant, TLS": partial(install, tls=True),
}
MATRIX = yaml.safe_load((Path(__file__).parent / "permissions.yaml").read_text(encoding="utf-8"))
USERS = permissions.of_everyone(POOLS, TENANTS)
WORKERS = {permissions.user_of_pool(kind, pool) for kind, pool in POOLS}
SERVICES = {one.user for one in USERS} - {permissions.SETUP, permissions.OPERATOR, *TENANTS}


def named(users: Iterable[str]) -> set[str]:
    groups = {"services": SERVICES, "workers": WORKERS}
    return set().union(*(groups.get(user, {user}) for user in users))


@pytest.fixture(params=INSTALLATIONS)
async def installation(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    installed = INSTALLATIONS[request.param](tmp_path)
    with installed.server:
        await installed.set_up()
        yield installed


async def refused_to(installation: Installation, user: str) -> set[tuple[str, str]]:
    """What of the whole matrix the server refuses to a user's plain connection, in its own words (lower case)."""
    errors: list[str] = []

    async def hear(error: Exception) -> None:
        errors.append(str(error))

    client = NatsClient()
    await client.connect(installation.server.url, error_cb=hear, **installation.access(user).options())
    for subject in MATRIX["publish"]:
        await client.publish(subject, b"")
    for subject in MATRIX["subscribe"]:
        await client.subscribe(subject)
    heard = -1
    while heard < len(errors):  # their callbacks are tasks, which a busy machine may run late
        heard = len(errors)
        await client.flush()
        await asyncio.sleep(0.1)
    await client.close()
    return {(found[1], found[2]) for error in errors if (found := VIOLATION.search(error))}


VIOLATION = re.compile(r'permissions violation for (publish|subscription) to "(.+)"')


async def test_each_user_may_do_what_the_matrix_says_and_nothing_else(installation: Installation) -> None:
    for one in USERS:
        refused = await refused_to(installation, one.user)
        for what, told in (("publish", "publish"), ("subscribe", "subscription")):
            allowed = {subject for subject in MATRIX[what] if (told, subject.lower()) not in refused}
            expected = {subject for subject, users in MATRIX[what].items() if one.user in named(users)}
            assert (one.user, what, sorted(allowed ^ expected)) == (one.user, what, [])


def test_the_matrix_knows_every_right() -> None:
    """A right that is added to contracts stays unknown to the test above until somebody writes it down."""
    for one in USERS:
        for what, patterns in (("publish", one.publish), ("subscribe", one.subscribe)):
            rows = [subject for subject, users in MATRIX[what].items() if one.user in named(users)]
            unused = [pattern for pattern in patterns if not any(covers(pattern, row) for row in rows)]
            assert unused == [], f"{one.user} {what}"


def covers(pattern: str, subject: str) -> bool:
    wanted, found = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, found = wanted[:-1], found[: len(wanted) - 1] if len(found) >= len(wanted) else []
    return len(wanted) == len(found) and all(a in ("*", b) for a, b in zip(wanted, found, strict=True))


def test_no_tenant_can_be_named_like_a_service() -> None:
    for user in (one.user for one in USERS if one.user not in TENANTS):
        with pytest.raises(ValueError, match="not valid"):
            permissions.of_tenant(user)


async def test_the_whole_flow_runs_with_a_user_for_every_service(installation: Installation) -> None:
    """Index, ask, decide, cancel, explain, count lanes, mark, probe, drop, delete: the server had nothing to refuse."""
    async with installation.services(), installation.operator() as operator:
        chunks = [sample_chunk("a", "the cat sat on the mat"), sample_chunk("b", "prices fell in 2024")]
        await index_corpus(operator, operator.data_dir, Wish("acme", "docs"), chunks, dict)
        async with installation.client("acme") as client:
            answer = await client.ask("cat on a mat", query_id="q1", budget_ms=20_000)
            assert (answer.status, answer.hits[0].chunk_id) == (Status.COMPLETE, "a")
            assert answer.hits[0].text, "chunks.get was answered"
            assert await client.stored("q1") == answer
            assert (await client.ask("cat on a mat", query_id="q1")).elapsed_ms == answer.elapsed_ms
            assert (await client.decide("cat", timeout_s=20)).plan is not None
            await client.cancel("q2")
        assert len({beat.service for beat in await operator.alive()}) == len(Stage)
        assert len(await operator.stream_loads()) == len(streams.STREAMS)
        assert (await explain_query(operator.bus, "acme", "q1")).audited
        await eventually(lambda: read_quality(operator.bus), 60)
        await undecodable(installation)
        await eventually(lambda: one_letter(operator), 60)
        (letter,) = (await list_letters(operator.bus, tenant="acme", stage=None, last=10)).letters
        await drop_letter(operator.bus, letter.id)
        graph = BackendKey(Kind.GRAPH, "main")
        await mark_backend(operator, graph, by="me", reason="a look", for_s=0.2)
        assert (await probe_backend(operator, graph, by="me")).state
        await eventually(lambda: is_healthy(operator), 60)
        await delete_chunks(operator, operator.data_dir, "acme", "docs", None)
    assert installation.refused() == []


async def undecodable(installation: Installation) -> None:
    """What no service can read, published as a tenant may."""
    client = await nats.connect(installation.server.url, **installation.access("acme").options())
    await client.jetstream().publish(subjects.query_submitted("acme", "q4"), b"{")
    await client.close()


async def one_letter(operator: Operator) -> bool:
    return (await list_letters(operator.bus, tenant="acme", stage=None, last=10)).matching == 1


async def is_healthy(operator: Operator) -> bool:
    """A probe decided: health sent a command of its own to a worker and read the reply."""
    (state,) = await operator.backend_states()
    return state.state is BackendHealth.HEALTHY


@pytest.mark.slow
async def test_a_lone_server_that_restarts_gets_its_streams_in_memory_again(tmp_path: Path) -> None:
    """By health, the one service that may create them; nobody else may, and all the others wait for it."""
    installed = install(tmp_path)
    with installed.server as server:
        await installed.set_up()
        async with installed.services(), installed.client("acme") as client:
            server.stop()
            server.start()
            answer = await eventually(lambda: answered(client), 120)
            assert answer.status is Status.REJECTED, "it has no corpus"
    assert installed.refused() == []


async def answered(client: Client) -> Answer | None:
    try:
        return await client.ask("anything", budget_ms=5_000)
    except ClientError:
        return None  # the services have not found the server again yet


async def test_a_tenant_neither_asks_nor_hears_nor_reads_for_another(installation: Installation) -> None:
    """The same subjects that serve one tenant are refused to another, whatever stands in the request."""
    async with installation.services(), installation.client("acme") as client:
        other = await nats.connect(installation.server.url, **installation.access("globex").options())
        heard = await other.subscribe(subjects.answered_of_tenant("acme"))
        await other.publish(subjects.query_submitted("acme", "q1"), SubmittedQuery(text="forged").to_json())
        await other.flush()
        answer = await client.ask("anything", query_id="q1", budget_ms=20_000)
        assert answer.status is Status.REJECTED, "it has no corpus, and the answer is stored all the same"
        assert heard.pending_msgs == 0
        refused = " ".join(installation.refused())
        assert subjects.answered_of_tenant("acme") in refused
        assert subjects.query_submitted("acme", "q1") in refused
        own = f"$JS.API.DIRECT.GET.ANSWERS.{subjects.query_fused('globex', 'q1')}"
        for asked in AIMED_ELSEWHERE:
            reply = await other.request(own, json.dumps(asked).encode() if asked else b"", timeout=5)
            assert (reply.headers or {}).get("Status") in {"404", "408"}, asked
            assert reply.data == b""
        await other.close()


AIMED_ELSEWHERE: tuple[dict[str, object], ...] = (
    {},
    {"last_by_subj": subjects.query_fused("acme", "q1")},
    {"multi_last": [subjects.fused_of_tenant("acme")]},
    {"seq": 1},
    {"seq": 1, "next_by_subj": subjects.fused_of_tenant("acme")},
)


async def test_who_has_no_key_is_refused_and_a_revoked_one_is_cut_off(tmp_path: Path) -> None:
    """`fanfuse tenants revoke`, the configuration made again, the server told to read it: no restart."""
    installed = install(tmp_path)
    with installed.server as server:
        with pytest.raises(NatsError, match="Authorization"):
            await nats.connect(server.url, allow_reconnect=False)
        revoked = await nats.connect(server.url, allow_reconnect=False, **installed.access("acme").options())
        kept = await nats.connect(server.url, allow_reconnect=False, **installed.access("globex").options())
        installed.write(installed.users.without_tenant("acme"))
        os.kill(server.pid, signal.SIGHUP)
        await eventually(lambda: revoked.is_closed)
        assert kept.is_connected
        with pytest.raises(NatsError, match="Authorization"):
            await nats.connect(server.url, allow_reconnect=False, **installed.access("acme").options())
        await kept.close()
