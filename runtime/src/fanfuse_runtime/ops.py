"""HTTP for operators: /healthz (is the process worth keeping), /readyz (may it get work), /metrics.

Liveness never looks at a backend: a dead engine must not restart workers.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fanfuse_runtime.metrics import Metrics


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling and its look ten times a second: the process says when to stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.over = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        """Until `over` is set."""
        await self.over.wait()


class OpsPortError(OSError):
    """The operators' endpoint can't listen where it should."""


class OpsEndpoint:
    """Serves the three paths of one process."""

    def __init__(
        self, metrics: Metrics, alive: Callable[[], str | None], ready: Callable[[], str | None], host: str, port: int
    ) -> None:
        """`alive` and `ready` return None, or what is wrong."""
        self._metrics = metrics
        self._checks = {"/healthz": alive, "/readyz": ready}
        routes = [Route(path, self._check) for path in self._checks]
        routes.append(Route("/metrics", self._scrape))
        config = uvicorn.Config(
            Starlette(routes=routes),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            lifespan="off",
            date_header=False,
        )
        self._server = _Server(config)
        self._host, self._port = host, port
        self._task: asyncio.Task[None] | None = None

    async def _check(self, request: Request) -> Response:
        problem = self._checks[request.url.path]()
        body = {"status": "ok"} if problem is None else {"status": "unavailable", "reason": problem}
        return JSONResponse(body, status_code=200 if problem is None else 503)

    async def _scrape(self, request: Request) -> Response:
        body, content_type = self._metrics.scrape(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": content_type})

    @property
    def is_listening(self) -> bool:
        """True once the port is open."""
        return self._server.started

    @property
    def port(self) -> int:
        """The port it listens on."""
        port: int = self._server.servers[0].sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Listen; raises `OpsPortError` when the port is taken."""
        # Bound here: uvicorn would tell a taken port on standard error and end the process.
        self._task = asyncio.create_task(self._server.serve(sockets=[self._bound()]))
        while not self._server.started:
            if self._task.done():
                await self._task
                raise OpsPortError("the operators' endpoint did not start")
            await asyncio.sleep(0.01)

    def _bound(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            return socket.create_server((self._host, self._port), family=family)
        except OSError as error:
            raise OpsPortError(
                f"the operators' endpoint can't listen on {self._host}: {error.strerror}; choose another port "
                "(FANFUSE_OPS_PORT, `fanfuse up --ops-port`)"
            ) from error

    async def stop(self) -> None:
        """Close the port."""
        self._server.over.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
