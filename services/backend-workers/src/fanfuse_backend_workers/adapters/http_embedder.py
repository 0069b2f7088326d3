"""Any OpenAI-compatible `/embeddings` endpoint as an embedder.

In: texts and what a card says of the endpoint. Out: unit vectors of the card's model and size; each batch is checked
before any of it is used. Blocking. No redirect is followed, and no message repeats a text, the key or the endpoint's
words.
"""

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import urllib3
from pydantic import SecretStr
from urllib3.exceptions import HTTPError

from fanfuse_backend_workers.adapters.http_embedder_answers import AnswerError, read_vectors
from fanfuse_backend_workers.adapters.http_embedder_pause import Pause
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind

QUERY_S: Final = 5.0
"""For one query, with its second try; the lane that waits gives up at the end of its own budget."""
DOCUMENTS_S: Final = 120.0
"""For one batch of documents, with all its tries."""
BATCH: Final = 32
CONNECTIONS: Final = 8
MAX_ANSWER_BYTES: Final = 64_000_000
_CONNECT_S: Final = 2.0
_QUERY_TRIES: Final = 2
_DOCUMENT_TRIES: Final = 6
_FIRST_WAIT_S: Final = 0.05
_READ_BYTES: Final = 1 << 16
_PASSING: Final = frozenset({429, 500, 502, 503, 504})


class _Passing(Exception):
    """A failure that another try may not meet. `wait_s`: what the endpoint asked for."""

    def __init__(self, what: str, wait_s: float = 0.0) -> None:
        super().__init__(what)
        self.wait_s = wait_s


class HttpEmbedder:
    """One model behind one endpoint; safe for threads."""

    def __init__(
        self, spec: EmbedderSpec, api_key: SecretStr | None = None, steady_s: Callable[[], float] = time.monotonic
    ) -> None:
        assert spec.endpoint is not None
        self.model = spec.model
        self.dimensions = spec.dimensions
        self.languages = spec.languages
        self.space = f"{spec.model}\0{spec.dimensions}\0{spec.document_prefix}"
        """Documents have the same vectors where this is equal."""
        self._spec = spec
        self._url = f"{spec.endpoint.rstrip('/')}/embeddings"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"} | _login(api_key)
        self._pool = urllib3.PoolManager(maxsize=CONNECTIONS, retries=False)
        self._steady_s = steady_s
        self._pause = Pause(steady_s)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text. Raises `SearchError`: EMBEDDER, or CONFIG for another model or size."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = [self._spec.document_prefix + text for text in texts[start : start + BATCH]]
            vectors += self._embed(batch, DOCUMENTS_S, _DOCUMENT_TRIES)
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of a query. Raises like `embed_documents`; at once while the endpoint is down."""
        if not self._pause.let_in():
            raise self._failure("failed several times just now, and is asked again in a moment")
        failed = True
        try:
            (vector,) = self._embed([self._spec.query_prefix + text], QUERY_S, _QUERY_TRIES)
            failed = False
        except SearchError as error:
            failed = error.kind is FailureKind.EMBEDDER
            raise
        finally:
            self._pause.ended(failed=failed)
        return vector

    def _embed(self, texts: list[str], within_s: float, tries: int) -> list[list[float]]:
        ends = self._steady_s() + within_s
        wait_s = _FIRST_WAIT_S
        for left in range(tries - 1, -1, -1):
            try:
                return self._asked(texts, ends)
            except _Passing as passing:
                pause_s = max(passing.wait_s, random.uniform(0.5, 1.5) * wait_s)
                if not left or self._steady_s() + pause_s >= ends:
                    raise self._failure(str(passing)) from passing
            time.sleep(pause_s)
            wait_s *= 4
        raise AssertionError("the last try returned or raised")

    def _asked(self, texts: list[str], ends: float) -> list[list[float]]:
        body = json.dumps({"model": self.model, "input": texts, "encoding_format": "float"}).encode()
        try:
            status, headers, answer = self._post(body, ends)
        except HTTPError as error:
            raise _Passing(f"can not be reached or did not answer in time: {type(error).__name__}") from None
        if status in _PASSING:
            raise _Passing(f"answered with status {status}", _asked_wait_s(headers))
        if status != 200:
            raise self._failure(f"answered with status {status}")
        try:
            return read_vectors(answer, len(texts), self._spec)
        except AnswerError as error:
            raise self._failure(str(error)) from None

    def _post(self, body: bytes, ends: float) -> tuple[int, Mapping[str, str], bytes]:
        left_s = max(ends - self._steady_s(), 0.001)
        timeout = urllib3.Timeout(connect=min(left_s, _CONNECT_S), read=left_s)
        response = self._pool.request(
            "POST",
            self._url,
            body=body,
            headers=self._headers,
            timeout=timeout,
            preload_content=False,
            redirect=False,
        )
        try:
            answer = bytearray()
            # What has come is read at once: the socket's timeout is one per read, so a trickle would never end.
            while part := response.read1(_READ_BYTES):
                answer += part
                if len(answer) > MAX_ANSWER_BYTES or self._steady_s() > ends:
                    raise self._failure("answered too much, or too slowly")
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return response.status, response.headers, bytes(answer)

    def _failure(self, what: str) -> SearchError:
        return SearchError(FailureKind.EMBEDDER, f"the endpoint of {self.model} {what}")


def _login(api_key: SecretStr | None) -> dict[str, str]:
    return {} if api_key is None else {"Authorization": f"Bearer {api_key.get_secret_value()}"}


def _asked_wait_s(headers: Mapping[str, Any]) -> float:
    after = str(headers.get("Retry-After", ""))
    return float(after) if after.isascii() and after.isdigit() else 0.0
