"""The embedders that this worker can run, by the model name on a corpus card.

In: the card's `EmbedderSpec`. Out: an embedder, loaded once per process, or None where only callers have vectors.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from fanfuse_backend_workers.ports import Embedder, SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind


def _minilm(threads: int) -> Embedder:
    from fanfuse_backend_workers.adapters.minilm_embedder import MiniLmEmbedder

    return MiniLmEmbedder(threads)


_EMBEDDERS: Final[Mapping[str, Callable[[int], Embedder]]] = {"all-MiniLM-L6-v2": _minilm}


def build_embedder(spec: EmbedderSpec, threads: int = 1) -> Embedder | None:
    """The embedder of a corpus; None if `spec.local` is false.

    Raises `SearchError(CONFIG)` for a model that is unknown here or whose vectors have another size than the card says.
    """
    if not spec.local:
        return None
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


@cache
def _loaded(model: str, threads: int) -> Embedder:
    return _EMBEDDERS[model](threads)
