"""The application of a tenant as deploy/README.md shows it: pasted into a file and run, on a bus with users and TLS."""

import asyncio
import re
import sys
from pathlib import Path

from tests.deploy.rendered import README
from tests.deploy.restricted import install


async def test_the_snippet_runs_as_pasted(tmp_path: Path) -> None:
    """Only the address differs. The tenant has no corpus, so its query is answered `rejected`."""
    found = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    installation = install(tmp_path, tls=True)
    with installation.server as server:
        await installation.set_up()
        (tmp_path / "app.py").write_text(found[1].replace("nats://nats.fanfuse:4222", server.url))
        async with installation.services():
            running = await asyncio.create_subprocess_exec(
                sys.executable, "app.py", cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
            printed, errors = await asyncio.wait_for(running.communicate(), 120)
    assert (printed.decode().strip(), errors.decode()) == ("rejected []", "")
    assert installation.refused() == []
