"""The script beside each server: what it tells a real server, what it says of it, and what it never passes on."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nats
import pytest
from nats.errors import Error as NatsError

from fanfuse_all_in_one.deploying.users_file import new_key
from fanfuse_testing.flow import eventually
from tests.deploy.rendered import K8S
from tests.deploy.restricted import Installation, install


@contextmanager
def reloading(installation: Installation, log: Path) -> Iterator[None]:
    """The script on this server; its log grows in a file."""
    pid_file = installation.folder / "nats.pid"
    pid_file.write_text(str(installation.server.pid))
    command = ["sh", str(K8S / "base/nats/reload.sh"), str(pid_file), str(installation.config)]
    with log.open("w") as out, subprocess.Popen(command, env={**os.environ, "EVERY_S": "0.2"}, stdout=out) as running:
        try:
            yield
        finally:
            running.kill()


@pytest.mark.parametrize("text", ["", "# made by hand\n", 'accounts: {"FANFUSE": {"users": []}}\n'])
async def test_users_that_are_nobody_are_not_passed_on(tmp_path: Path, text: str) -> None:
    """A failed command may leave such a file. The server keeps who it knows, and the next good file is told."""
    installation = install(tmp_path)
    log = tmp_path / "reload.log"
    with installation.server as server, reloading(installation, log):
        await eventually(lambda: "looks at" in log.read_text(), 30)
        (installation.config / "users.conf").write_text(text)
        await eventually(lambda: "NOT told: users.conf names no user" in log.read_text(), 30)
        with pytest.raises(NatsError, match="Authorization"):
            await nats.connect(server.url, allow_reconnect=False)
        installation.write(installation.users.with_tenant("newt", new_key(tmp_path / "newt.nk")))
        await eventually(lambda: log.read_text().count("told process") == 2, 30)
        client = await nats.connect(server.url, **installation.access("newt").options())
        assert client.is_connected
        await client.close()
    lines = log.read_text().splitlines()
    assert [line for line in lines if "NOT told" in line] == [lines[1]], "once, not at each look"
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ reload: ", line) for line in lines), lines
    assert lines[-1].rstrip().endswith(f"for {installation.config}/users.conf")
