"""A real server with the users of `fanfuse deploy nats`, and the services on it, each as its own user.

In: a folder. Out: the server's address, each user's access, and what the server refused (from its log).
"""

import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest

from fanfuse_all_in_one.deploying.nats_users import render_account_per_tenant
from fanfuse_all_in_one.deploying.users_file import UsersFile, new_key
from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.services import FACTORIES
from fanfuse_backend_workers.adapters.embedded import engines_in, texts_in
from fanfuse_backend_workers.adapters.embedders import build_embedder
from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_backend_workers.service import build_with
from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_client import Client
from fanfuse_contracts import permissions, streams
from fanfuse_contracts.access import Access
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.query import Principal
from fanfuse_runtime.compose import compose
from fanfuse_runtime.server import NatsServer
from fanfuse_runtime.service import ServiceFactory
from fanfuse_runtime.settings import Creates, RuntimeSettings
from fanfuse_runtime.setup import ensure_consumer, ensure_topology
from fanfuse_testing.faults.cluster import NatsCluster
from tests.deploy.certificates import write_certificates
from tests.deploy.rendered import K8S

POOLS = tuple((kind, "main") for kind in Kind)
TENANTS = ("acme", "globex")
Render = Callable[[UsersFile, Iterable[tuple[Kind, str]]], str]


@dataclass(frozen=True)
class Installation:
    """Keys of everybody in a folder, and the server's configuration made of them."""

    folder: Path
    server: NatsServer | NatsCluster
    users: UsersFile
    render: Render
    ca_file: Path | None = None
    """Authority of the server's certificate, where it speaks TLS only."""

    def access(self, user: str) -> Access:
        return Access(user=user, nkey=self.folder / f"{user}.nk", ca_file=self.ca_file)

    def settings(self, user: str, creates: Creates = Creates.NOTHING) -> RuntimeSettings:
        return RuntimeSettings(
            nats_url=self.server.url,
            nats_user=user,
            nats_nkey=self.folder / f"{user}.nk",
            nats_ca_file=self.ca_file,
            data_dir=self.folder / "data",
            drain_timeout_s=3.0,
            creates=creates,
        )

    def client(self, tenant: str) -> Client:
        access = Access(nkey=self.folder / f"{tenant}.nk", ca_file=self.ca_file)
        return Client(self.server.url, tenant, principal=Principal(id="tester"), access=access)

    @property
    def config(self) -> Path:
        """The folder that the server reads, and nothing else in it."""
        return self.folder / "etc"

    def write(self, users: UsersFile, render: Render | None = None) -> None:
        """These users from now on, once the server is told to read them."""
        (self.config / "users.conf").write_text((render or self.render)(users, POOLS))

    @contextmanager
    def reloader(self) -> Iterator[None]:
        """The script beside each server of the manifests, on this one."""
        pid_file = self.folder / "nats.pid"
        pid_file.write_text(str(self.server.pid))
        command = ["sh", str(K8S / "base/nats/reload.sh"), str(pid_file), str(self.config)]
        with subprocess.Popen(command, env={**os.environ, "EVERY_S": "0.5"}, stdout=subprocess.PIPE) as running:
            try:
                assert running.stdout is not None
                assert b"looks at" in running.stdout.readline(), "what changes from now on is seen"
                yield
            finally:
                running.kill()

    async def set_up(self) -> None:
        """What `fanfuse deploy setup` does, as its user."""
        client = await nats.connect(self.server.url.split(","), **self.access(permissions.SETUP).options())
        js = client.jetstream()
        await ensure_topology(js)
        for kind, pool in POOLS:
            await ensure_consumer(js, streams.pool_consumer(kind, pool))
        await client.close()

    @asynccontextmanager
    async def services(self) -> AsyncIterator[None]:
        """All five services, each in a process of its own as far as the bus sees, workers by pool."""
        async with AsyncExitStack() as stack:
            for stage, factory in FACTORIES.items():
                if stage is not Stage.BACKEND_WORKERS:
                    creates = Creates.MEMORY if stage is Stage.HEALTH else Creates.NOTHING
                    settings = self.settings(permissions.user_of_stage(stage), creates)
                    await stack.enter_async_context(compose(factory, settings=settings))
            for kind, pool in POOLS:
                settings = self.settings(permissions.user_of_pool(kind, pool))
                await stack.enter_async_context(compose(self._worker(kind, pool), settings=settings))
            yield

    def _worker(self, kind: Kind, pool: str) -> ServiceFactory:
        data = self.folder / "data"
        return build_with(
            open_engine=engines_in(data),
            open_texts=texts_in(data),
            load_embedder=build_embedder,
            settings=WorkerSettings(pools=(Pool(kind, pool),)),
        )

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[Operator]:
        """The operator's commands, which take their user from the environment."""
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("FANFUSE_NATS_USER", permissions.OPERATOR)
            environment.setenv("FANFUSE_NATS_NKEY", str(self.folder / f"{permissions.OPERATOR}.nk"))
            environment.setenv("FANFUSE_CREATES", Creates.NOTHING.value)
            if self.ca_file is not None:
                environment.setenv("FANFUSE_NATS_CA_FILE", str(self.ca_file))
            async with operator_on(self.server.url, data_dir=self.folder / "data") as operator:
                yield operator

    def refused(self) -> list[str]:
        """What the server refused to anybody so far."""
        log = (self.folder / "nats" / "nats-server.log").read_text(errors="replace")
        return re.findall(r"(?:Publish|Subscription) Violation.*", log)


def install(folder: Path, render: Render = render_account_per_tenant, *, tls: bool = False) -> Installation:
    """Make every key and the configuration; the server is not started yet. `tls`: it speaks nothing else."""
    users = UsersFile()
    for one in permissions.of_everyone(POOLS, ()):
        users = users.with_service(one.user, new_key(folder / f"{one.user}.nk"))
    for tenant in TENANTS:
        users = users.with_tenant(tenant, new_key(folder / f"{tenant}.nk"))
    server = NatsServer(folder / "nats", config=folder / "etc/nats.conf")
    installed = Installation(folder, server, users, render, folder / "ca.crt" if tls else None)
    installed.config.mkdir()
    (installed.config / "nats.conf").write_text("include ./users.conf\n" + (_tls(folder) if tls else ""))
    installed.write(users)
    return installed


def _tls(folder: Path) -> str:
    """What the component `tls` adds, with a certificate of this folder."""
    write_certificates(folder)
    shipped = (K8S / "components/tls/tls.conf").read_text(encoding="utf-8")
    return shipped.replace("/etc/nats-tls", str(folder))
