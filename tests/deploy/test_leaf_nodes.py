"""A leaf node near a tenant's applications, as docs/sizing.md has it: it connects with the tenant's key.

It takes the tenant's account: in one account for all, the server offers a leaf no stream of everybody's queries.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import nats
import pytest
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from fanfuse_contracts import streams, subjects
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually
from fanfuse_testing.ports import free_port
from tests.deploy.restricted import Installation, install


@pytest.fixture
async def installation(tmp_path: Path) -> AsyncIterator[Installation]:
    installed = install(tmp_path)
    port = free_port()
    with (installed.config / "nats.conf").open("a") as config:
        config.write(f'leafnodes {{ listen: "127.0.0.1:{port}" }}\n')
    seed = (tmp_path / "acme.nk").read_text().strip()
    remote = f'{{ url: "nats-leaf://127.0.0.1:{port}", nkey: {seed} }}'
    (tmp_path / "leaf.conf").write_text(f"leafnodes {{ remotes: [{remote}] }}\n")
    with installed.server:
        await installed.set_up()
        yield installed


async def test_a_tenant_asks_and_hears_over_a_leaf_and_nobody_else_does(
    installation: Installation, tmp_path: Path
) -> None:
    with NatsServer(tmp_path / "leaf", config=tmp_path / "leaf.conf") as leaf:
        client = await nats.connect(leaf.url, inbox_prefix=b"_INBOX_acme")
        heard = await client.subscribe(subjects.answered_of_tenant("acme"))

        async def asked() -> bool:
            try:
                reply = await client.request(subjects.query_submitted("acme", "q1"), b"{}", timeout=5)
            except NatsError:
                return False  # the leaf is not connected yet
            return streams.QUERIES.name.encode() in reply.data

        assert await eventually(asked, 60)
        fuser = await nats.connect(installation.server.url, **installation.access("FUSER").options())
        await fuser.publish(subjects.query_answered("acme", "q1"), b"{}")
        assert (await heard.next_msg(timeout=30)).subject == subjects.query_answered("acme", "q1")
        with pytest.raises(NoRespondersError):
            await client.request(subjects.query_submitted("globex", "q1"), b"{}", timeout=5)
        stranger = await client.subscribe(subjects.answered_of_tenant("globex"))
        await client.flush()
        await fuser.publish(subjects.query_answered("globex", "q1"), b"{}")
        await fuser.flush()
        await asyncio.sleep(0.3)
        assert stranger.pending_msgs == 0
        await client.close()
        await fuser.close()
