"""What else a tenant's user might do with the messages it may publish: headers, acknowledgements, sheer numbers.

Its own client would not; a program of its own with the tenant's key can. Both ways of keeping tenants apart refuse it,
except for connections, which only an account bounds.
"""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client as NatsClient
from nats.errors import Error as NatsError

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT, render_account_per_tenant, render_one_account
from fanfuse_contracts import limits, permissions, streams, subjects
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port
from tests.deploy.restricted import Installation, install

WAYS = {"account per tenant": render_account_per_tenant, "one account": render_one_account}
OTHERS = subjects.query_submitted("globex", "q1")
OWN = subjects.query_submitted("acme", "q1")
GET = f"$JS.API.DIRECT.GET.{streams.ANSWERS.name}.{subjects.query_fused('acme', 'q1')}"

HEADERS: tuple[dict[str, str], ...] = (
    {"Nats-Rollup": "all"},
    {"Nats-Rollup": "sub"},
    {"Nats-TTL": "1s"},
    {"Nats-Schedule": "@every 1s", "Nats-Schedule-Target": OTHERS},
    {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"},
    {"Nats-Incr": "+1"},
    {"Nats-Expected-Last-Sequence": "0"},
    {"Nats-Expected-Stream": "ANSWERS"},
)
"""Ask a stream for more than to keep the message."""


@pytest.fixture(params=WAYS)
async def installation(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    installed = install(tmp_path, WAYS[request.param])
    with installed.server:
        await installed.set_up()
        yield installed


async def connected(installation: Installation, user: str) -> NatsClient:
    return await nats.connect(installation.server.url, allow_reconnect=False, **installation.access(user).options())


async def test_headers_make_the_streams_do_nothing_for_a_tenant(installation: Installation) -> None:
    """A query of another that waits is neither purged nor replaced nor doubled, nor is one made in its name."""
    async with AsyncExitStack() as stack:
        acme, globex, operator = [
            await stack.enter_async_context(await connected(installation, user))
            for user in ("acme", "globex", permissions.OPERATOR)
        ]
        await globex.request(OTHERS, b"{}", timeout=10)
        for headers in HEADERS:
            reply = await acme.request(OWN, b"{}", headers=headers, timeout=10)
            assert "error" in json.loads(reply.data), headers
        state = (await operator.jetstream().stream_info(streams.QUERIES.name, subjects_filter=">")).state
        assert state.subjects == {OTHERS: 1}


async def test_a_trace_of_the_server_goes_where_the_tenant_may_publish_and_nowhere_else(
    installation: Installation,
) -> None:
    """`Nats-Trace-Dest` has the server publish what became of a message."""
    async with AsyncExitStack() as stack:
        acme, globex = [
            await stack.enter_async_context(await connected(installation, user)) for user in ("acme", "globex")
        ]
        heard = await globex.subscribe(subjects.answered_of_tenant("globex"))
        await globex.flush()
        target = subjects.query_answered("globex", "q1")
        await acme.publish(OWN, b"{}", headers={"Nats-Trace-Dest": target})
        await eventually(lambda: any(target in line for line in installation.refused()), 30)
        await asyncio.sleep(0.2)
        assert heard.pending_msgs == 0


@pytest.mark.parametrize("request_of", [OWN, GET, subjects.query_decide("acme")])
async def test_no_reply_acknowledges_work_of_another(installation: Installation, request_of: str) -> None:
    """An empty reply (nothing found) on `$JS.ACK…` would end a message that a service has in hand."""
    async with AsyncExitStack() as stack:
        acme, globex, classifier = [
            await stack.enter_async_context(await connected(installation, user))
            for user in ("acme", "globex", "CLASSIFIER")
        ]
        await globex.request(OTHERS, b"{}", timeout=10)
        spec = streams.CLASSIFIER_CONSUMER
        pulling = await classifier.jetstream().pull_subscribe_bind(spec.durable, stream=spec.stream)
        (held,) = await pulling.fetch(1, timeout=10)
        await acme.publish(request_of, b"", reply=held.reply)
        await eventually(lambda: any("Violation" in line for line in log_of(installation)), 30)
        await asyncio.sleep(0.2)
        assert (await pulling.consumer_info()).num_ack_pending == 1
        await held.ack_sync()
        assert (await pulling.consumer_info()).num_ack_pending == 0


def log_of(installation: Installation) -> list[str]:
    return (installation.folder / "nats" / "nats-server.log").read_text(errors="replace").splitlines()


async def test_replies_that_never_come_are_forgotten_soon(tmp_path: Path) -> None:
    """Each keeps a subscription of the server in the services' account, by NATS' default for two minutes."""
    port = free_port()
    installation = install(tmp_path)
    with (installation.config / "nats.conf").open("a") as config:
        config.write(f'http: "127.0.0.1:{port}"\n')
    with installation.server:
        await installation.set_up()
        async with AsyncExitStack() as stack:
            acme, fuser = [
                await stack.enter_async_context(await connected(installation, user)) for user in ("acme", "FUSER")
            ]
            heard = await fuser.subscribe(subjects.QUERY_CANCELLED)
            await fuser.flush()
            for number in range(100):
                await acme.publish(subjects.query_cancelled("acme", f"q{number}"), b"", reply=f"_INBOX_acme.{number}")
            for _ in range(100):
                await heard.next_msg(timeout=30)
            assert await eventually(lambda: no_way_back(port), 30, 0.5)


async def no_way_back(port: int) -> bool:
    """No reply is waited for: of what FANFUSE exports nothing is mapped to a subject of a tenant."""
    url = f"http://127.0.0.1:{port}/accountz?acc={ACCOUNT}"
    with await asyncio.to_thread(urllib.request.urlopen, url, timeout=5) as response:
        detail = json.load(response)["account_detail"]
    return not detail.get("responses")


async def test_a_tenant_with_too_many_connections_is_refused_and_the_others_are_not(tmp_path: Path) -> None:
    """`fanfuse deploy nats --tenant-connections`."""
    installation = install(tmp_path, partial(render_account_per_tenant, connections=3))
    with installation.server:
        async with AsyncExitStack() as stack:
            for user in ("acme", "acme", "acme", "globex"):
                await stack.enter_async_context(await connected(installation, user))
            with pytest.raises(NatsError, match="maximum account active connections exceeded"):
                await connected(installation, "acme")


async def test_a_connection_with_too_many_subscriptions_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leaks them, before the memory of the server is gone; the next one of the tenant starts anew."""
    monkeypatch.setattr(limits, "TENANT_SUBSCRIPTIONS", 3)
    installation = install(tmp_path)
    with installation.server:
        client = await connected(installation, "acme")
        for number in range(4):
            await client.subscribe(subjects.query_answered("acme", f"q{number}"))
        assert await eventually(lambda: client.is_closed, 30)
        assert "maximum subscriptions exceeded" in log_of(installation)[-1]
        async with await connected(installation, "acme") as again:
            assert again.is_connected
