"""What a tenant's user can have the server write for it: NATS checks no permission on the reply subject of a request.

The broker itself acknowledges a publish, or answers a direct get, wherever the reply points to. An account per tenant
bounds that to the tenant's own; in one account it reaches everything (ADR 0012).
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.js.errors import NotFoundError

from fanfuse_all_in_one.deploying.nats_users import render_account_per_tenant, render_one_account
from fanfuse_contracts import permissions, streams, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_testing.flow import eventually
from tests.deploy.restricted import Installation, Render, install

STORED = {
    subjects.query_fused("globex", "q1"): streams.ANSWERS.name,
    subjects.query_planned("globex", "q1"): streams.QUERIES.name,
    subjects.query_submitted("globex", "q1"): streams.QUERIES.name,
    f"$KV.{streams.CORPORA.name}.{streams.corpus_key('globex', 'docs')}": f"KV_{streams.CORPORA.name}",
    f"$KV.{streams.BACKEND_STATE.name}.{streams.backend_key(Kind.VECTOR, 'main')}": f"KV_{streams.BACKEND_STATE.name}",
}
INBOXES = {"_INBOX_globex.x": "globex", f"_INBOX_{permissions.OPERATOR}.x": permissions.OPERATOR}
OWN = "_INBOX_acme.last"


async def aim(client: NatsClient) -> None:
    """Requests that acme may make, with replies to what is not its own; returns when the broker has answered each."""
    for place, target in enumerate((*STORED, *INBOXES)):
        await client.publish(subjects.query_submitted("acme", f"q{place}"), b"{}", reply=target)
        get = f"$JS.API.DIRECT.GET.ANSWERS.{subjects.query_fused('acme', f'q{place}')}"
        await client.publish(get, b"", reply=target)
    last = await client.subscribe(OWN)
    await client.publish(subjects.query_submitted("acme", "last"), b"{}", reply=OWN)
    await last.next_msg(timeout=30)


async def written(installation: Installation, client: NatsClient) -> set[str]:
    """The stored subjects among `STORED` that hold something, as the operator sees it."""
    js = client.jetstream()
    states = [(await js.stream_info(name, subjects_filter=">")).state for name in sorted({*STORED.values()})]
    return {subject for state in states for subject in state.subjects or {}} & STORED.keys()


@pytest.mark.parametrize(("render", "reaches_others"), [(render_account_per_tenant, False), (render_one_account, True)])
async def test_replies_of_the_server_stay_with_the_tenant_in_an_account_of_its_own(
    tmp_path: Path, render: Render, reaches_others: bool
) -> None:
    installation = install(tmp_path, render)
    heard: set[str] = set()

    async def hear(message: Msg) -> None:
        heard.add(message.subject)

    with installation.server as server:
        await installation.set_up()
        clients = {
            user: await nats.connect(server.url, **installation.access(user).options())
            for user in ("acme", *INBOXES.values())
        }
        for inbox, user in INBOXES.items():
            await clients[user].subscribe(inbox, cb=hear)
            await clients[user].flush()

        await aim(clients["acme"])

        async def reached() -> set[str]:
            return heard | await written(installation, clients[permissions.OPERATOR])

        js, accepted = clients[permissions.OPERATOR].jetstream(), f"{subjects.ROOT}.query.submitted.acme.*"
        state = (await js.stream_info(streams.QUERIES.name, subjects_filter=accepted)).state
        everything = {*STORED, *INBOXES}
        assert len(state.subjects or {}) == len(everything) + 1, "each publish was accepted"
        if reaches_others:
            await eventually(lambda: _all_of(reached, everything))
        await asyncio.sleep(0.3)
        assert await reached() == (everything if reaches_others else set())
        for client in clients.values():
            await client.close()


@pytest.mark.parametrize(("render", "deletes"), [(render_account_per_tenant, False), (render_one_account, True)])
async def test_an_empty_reply_is_no_request_from_an_account_of_its_own(
    tmp_path: Path, render: Render, deletes: bool
) -> None:
    """A direct get that finds nothing is answered by nothing, which deletes a stream where it is sent to do so."""
    installation = install(tmp_path, render)
    with installation.server as server:
        await installation.set_up()
        acme, operator = [
            await nats.connect(server.url, **installation.access(user).options())
            for user in ("acme", permissions.OPERATOR)
        ]
        nothing = f"$JS.API.DIRECT.GET.ANSWERS.{subjects.query_fused('acme', 'nonesuch')}"
        await acme.publish(nothing, b"", reply=f"$JS.API.STREAM.DELETE.{streams.ANSWERS.name}")
        assert (await acme.request(nothing, b"", timeout=30)).headers is not None, "the server has answered both"

        async def is_gone() -> bool:
            try:
                await operator.jetstream().stream_info(streams.ANSWERS.name)
            except NotFoundError:
                return True
            return False

        if deletes:
            await eventually(is_gone)
        await asyncio.sleep(0.3)
        assert await is_gone() is deletes
        for client in (acme, operator):
            await client.close()


async def _all_of(reached: Callable[[], Awaitable[set[str]]], everything: set[str]) -> bool:
    return everything <= await reached()
