"""A server on a real socket that speaks just enough HTTP to answer as a test says.

In: a function from a request to an answer. Out: what was asked, and how many sockets were open. It says the product
header of Elasticsearch, so both client libraries take it for theirs.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

_PRODUCT: Final = {"X-Elastic-Product": "Elasticsearch"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply; `status` 0 closes the socket without a word."""

    status: int = 200
    body: object = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=lambda: _PRODUCT)
    after_s: float = 0.0


class ScriptedServer:
    """Use it as an asynchronous context manager."""

    def __init__(
        self, answer: Callable[[Asked], Answer], *, idle_s: float | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._answer = answer
        self._idle_s = idle_s
        self._tls = tls
        self.asked: list[Asked] = []
        self.open_sockets = 0
        self.most_sockets = 0
        self.all_sockets = 0
        self.url = ""
        self._serving: set[asyncio.Task[None]] = set()
        self._emptied = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def emptied(self) -> None:
        """Return when no socket is open."""
        while self.open_sockets:
            self._emptied.clear()
            async with asyncio.timeout(10):
                await self._emptied.wait()

    def asked_for(self, ending: str) -> list[Asked]:
        """Requests whose path, without its query, ends so."""
        return [one for one in self.asked if one.path.partition("?")[0].endswith(ending)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self.open_sockets += 1
        self.all_sockets += 1
        self.most_sockets = max(self.most_sockets, self.open_sockets)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError):
                while await self._serve_one(reader, writer):
                    pass
            writer.close()
            with suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
                await writer.wait_closed()
        finally:
            self._serving.discard(task)
            self.open_sockets -= 1
            self._emptied.set()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        async with asyncio.timeout(self._idle_s):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.strip().split("\r\n")
        method, path, _ = request.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(method, path, headers, body)
        self.asked.append(asked)
        answer = self._answer(asked)
        await asyncio.sleep(answer.after_s)
        if answer.status == 0:
            return False
        writer.write(_bytes(answer))
        await writer.drain()
        return True


def _bytes(answer: Answer) -> bytes:
    plain = isinstance(answer.body, str)
    body = str(answer.body).encode() if plain else json.dumps(answer.body).encode()
    headers = {
        "Content-Type": "text/html" if plain else "application/json",
        "Content-Length": str(len(body)),
        **answer.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} Said\r\n{lines}\r\n".encode() + body
