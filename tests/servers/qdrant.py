"""A Qdrant server for tests: the REST calls the adapter makes, over Qdrant in process or its own engine, on a socket.

No package ships Qdrant's server; this is what its official client talks HTTP to. It knows no keys or replicas.
`QDRANT_URL` names a real server to use instead. Faults are injected per request: a status, a delay, a cut connection,
an answer that is no JSON.
"""

import asyncio
import json
import re
import threading
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Self

from pydantic import TypeAdapter
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.models import models as wire

_MEMORY: Final = ":memory:"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a request instead of, or before, its answer."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    delay_s: float = 0.0
    cut: bool = False
    """The connection is closed without an answer."""
    calls: int | None = 1
    """How many requests it happens to; None: all."""
    path: str = ""
    """A part of the paths it happens to."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class QdrantShim:
    """The server, in a thread with a loop of its own."""

    store: Callable[[], Any] = lambda: AsyncQdrantClient(_MEMORY)
    """Makes what holds the points: it offers the client's calls."""
    port: int = 0
    fault: Fault | None = None
    seen: list[Request] = field(default_factory=list)
    connections: int = 0
    """Opened so far."""

    def start(self) -> Self:
        """Listen on a free port, or on that of before."""
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Close every connection and stop listening; what is stored is lost."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that there are no indexes in process
            self._qdrant = self.store()
            server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=2**26)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await self._stopped.wait()
            server.close()
            for writer in self._writers:
                writer.transport.abort()
            await self._qdrant.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while request := await _read(reader):
                self.seen.append(request)
                if not await self._answer(request, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the server stops
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        fault = self._fault_of(request)
        await asyncio.sleep(fault.delay_s if fault else 0)
        if fault and fault.cut:
            return False
        if fault and (fault.status != 200 or fault.body is not None):
            status, body = fault.status, fault.body or b'{"status":{"error":"injected: secret-text"}}'
        else:
            status, body = await _handled(self._qdrant, request)
        extra = "".join(f"{name}: {value}\r\n" for name, value in (fault.headers if fault else ()))
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        return True

    def _fault_of(self, request: Request) -> Fault | None:
        fault = self.fault
        if fault is None or fault.path not in request.path:
            return None
        if fault.calls is not None:
            left = fault.calls - 1
            self.fault = None if left == 0 else Fault(**{**_fields(fault), "calls": left})
        return fault


def _fields(fault: Fault) -> dict[str, Any]:
    return {name: getattr(fault, name) for name in Fault.__slots__}


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    path, _, query = target.partition("?")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, query, headers, body)


async def _handled(qdrant: Any, request: Request) -> tuple[int, bytes]:
    for method, pattern, handler in _ROUTES:
        if request.method == method and (found := re.fullmatch(pattern, request.path)):
            try:
                result = await handler(qdrant, json.loads(request.body or b"{}"), *found.groups())
            except (ValueError, KeyError) as error:
                status = 404 if "not found" in str(error) else 409 if "already exists" in str(error) else 400
                return status, json.dumps({"status": {"error": str(error)}, "time": 0.0}).encode()
            return 200, TypeAdapter(dict[str, Any]).dump_json({"result": result, "status": "ok", "time": 0.0})
    return 404, b'{"status":{"error":"no such route"}}'


Handler = Callable[..., Awaitable[Any]]


async def _collections(qdrant: Any, _: Any) -> Any:
    return await qdrant.get_collections()


async def _aliases(qdrant: Any, _: Any) -> Any:
    return await qdrant.get_aliases()


async def _change_aliases(qdrant: Any, body: Any) -> Any:
    return await qdrant.update_collection_aliases(wire.ChangeAliasesOperation.model_validate(body).actions)


async def _info(qdrant: Any, _: Any, name: str) -> Any:
    return await qdrant.get_collection(name)


async def _exists(qdrant: Any, _: Any, name: str) -> Any:
    return {"exists": await qdrant.collection_exists(name)}


async def _create(qdrant: Any, body: Any, name: str) -> Any:
    wanted = wire.CreateCollection.model_validate(body)
    return await qdrant.create_collection(name, vectors_config=wanted.vectors, metadata=wanted.metadata)


async def _index(qdrant: Any, body: Any, name: str) -> Any:
    wanted = wire.CreateFieldIndex.model_validate(body)
    return await qdrant.create_payload_index(name, wanted.field_name, wanted.field_schema)


async def _upsert(qdrant: Any, body: Any, name: str) -> Any:
    return await qdrant.upsert(name, points=wire.PointsList.model_validate(body).points)


async def _retrieve(qdrant: Any, body: Any, name: str) -> Any:
    wanted = wire.PointRequest.model_validate(body)
    return await qdrant.retrieve(name, wanted.ids, with_payload=wanted.with_payload or False)


async def _query(qdrant: Any, body: Any, name: str) -> Any:
    wanted = wire.QueryRequest.model_validate(body)
    return await qdrant.query_points(
        name,
        query=wanted.query,
        using=wanted.using,
        query_filter=wanted.filter,
        limit=wanted.limit or 10,
        with_payload=wanted.with_payload or False,
    )


async def _count(qdrant: Any, body: Any, name: str) -> Any:
    return await qdrant.count(name, count_filter=wire.CountRequest.model_validate(body).filter)


async def _scroll(qdrant: Any, body: Any, name: str) -> Any:
    wanted = wire.ScrollRequest.model_validate(body)
    points, offset = await qdrant.scroll(
        name, scroll_filter=wanted.filter, limit=wanted.limit or 10, offset=wanted.offset, with_payload=True
    )
    return {"points": points, "next_page_offset": offset}


async def _delete(qdrant: Any, body: Any, name: str) -> Any:
    selector: Any = TypeAdapter(models.PointsSelector).validate_python(body)
    return await qdrant.delete(name, points_selector=selector)


_POINTS: Final = r"/collections/([^/]+)/points"
_ROUTES: Final[tuple[tuple[str, str, Handler], ...]] = (
    ("GET", r"/collections", _collections),
    ("GET", r"/aliases", _aliases),
    ("POST", r"/collections/aliases", _change_aliases),
    ("GET", r"/collections/([^/]+)", _info),
    ("GET", r"/collections/([^/]+)/exists", _exists),
    ("PUT", r"/collections/([^/]+)", _create),
    ("PUT", r"/collections/([^/]+)/index", _index),
    ("PUT", _POINTS, _upsert),
    ("POST", _POINTS, _retrieve),
    ("POST", _POINTS + "/query", _query),
    ("POST", _POINTS + "/count", _count),
    ("POST", _POINTS + "/scroll", _scroll),
    ("POST", _POINTS + "/delete", _delete),
)
