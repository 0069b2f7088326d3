"""An OpenAI-compatible embeddings endpoint for tests, on a real socket.

In: requests as any client of that interface sends them. Out: vectors made of the text itself, so that a test knows
what to expect. Faults are injected per request.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DIMENSIONS = 4


def vector_of(text: str) -> list[float]:
    """Not of length 1, as some endpoints give them."""
    return [float(len(text)), float(text.count("e")), 1.0, 0.0]


@dataclass(frozen=True, slots=True)
class Fault:
    """What a request gets instead of, or before, its answer."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    delay_s: float = 0.0
    trickle: bool = False
    """One byte every tenth of a second, without end."""
    cut: bool = False
    """The connection is closed without an answer."""
    calls: int | None = 1
    """How many requests get it; None: all."""


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


@dataclass
class EmbeddingsStub:
    """The endpoint, in threads."""

    model: str = "stub-model"
    fault: Fault | None = None
    change: Callable[[dict[str, Any]], Any] = lambda answer: answer
    """What becomes of an answer before it is sent."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def start(self) -> Self:
        """Listen on a free port."""
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                stub._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server = _QuietServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    @property
    def endpoint(self) -> str:
        """Its address up to the version."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def stop(self) -> None:
        """Stop listening."""
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.bodies.append(body)
            self.headers.append(dict(handler.headers))
            fault = self._take()
        self._stopped.wait(fault.delay_s)
        if fault.cut:
            handler.close_connection = True
            return
        answer = self.change(self._embedded(body)) if handler.path == "/v1/embeddings" else {}
        content = fault.body if fault.body is not None else json.dumps(answer).encode()
        try:
            self._send(handler, fault, content)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True  # the client went away

    def _send(self, handler: BaseHTTPRequestHandler, fault: Fault, content: bytes) -> None:
        handler.send_response(fault.status if handler.path == "/v1/embeddings" else 404)
        for name, value in fault.headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(10**6 if fault.trickle else len(content)))
        handler.end_headers()
        while fault.trickle and not self._stopped.is_set():
            handler.wfile.write(b" ")
            time.sleep(0.1)
        handler.wfile.write(content)

    def _embedded(self, body: dict[str, Any]) -> dict[str, Any]:
        data = [{"object": "embedding", "index": i, "embedding": vector_of(t)} for i, t in enumerate(body["input"])]
        return {"object": "list", "model": self.model, "data": data, "usage": {"total_tokens": 1}}

    def _take(self) -> Fault:
        fault = self.fault or Fault()
        if self.fault is not None and fault.calls is not None:
            left = fault.calls - 1
            changed = {name: getattr(fault, name) for name in Fault.__slots__} | {"calls": left}
            self.fault = Fault(**changed) if left else None
        return fault
