"""Reads the answer of an OpenAI-compatible embeddings endpoint.

In: the bytes of an answer and what was asked. Out: unit vectors in the order of the texts. An answer with vectors
missing, of another model or of another size is refused as a whole.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fanfuse_backend_workers.adapters.unit_vector import unit
from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import FailureKind


class AnswerError(ValueError):
    """The answer can not be used; the message says why, and repeats nothing of it but sizes."""


@dataclass(frozen=True, slots=True)
class _Item:
    index: int
    embedding: list[float]


_ITEMS = TypeAdapter(list[_Item])


def read_vectors(answer: bytes, count: int, spec: EmbedderSpec) -> list[list[float]]:
    """The vectors of `count` texts. Raises `AnswerError`, or `SearchError(CONFIG)` for another model or size."""
    body = _parsed(answer)
    _check_model(body.get("model"), spec)
    items = _items(body)
    if sorted(item.index for item in items) != list(range(count)):
        raise AnswerError(f"gave {len(items)} vectors for {count} texts, or one twice")
    ordered = sorted(items, key=lambda item: item.index)
    return [_checked(item.embedding, spec) for item in ordered]


def _parsed(answer: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(answer)
    except (ValueError, RecursionError):
        raise AnswerError("answered with something that is no JSON") from None
    if not isinstance(body, dict):
        raise AnswerError("answered with something that is no JSON object")
    return body


def _items(body: Mapping[str, Any]) -> list[_Item]:
    try:
        return _ITEMS.validate_python(body.get("data"))
    except ValidationError:
        raise AnswerError("answered with something that is no list of vectors") from None


def _checked(vector: list[float], spec: EmbedderSpec) -> list[float]:
    if not vector:
        raise AnswerError("gave an empty vector")
    if len(vector) != spec.dimensions:
        message = f"the endpoint of {spec.model} makes {len(vector)} dimensions, the card says {spec.dimensions}"
        raise SearchError(FailureKind.CONFIG, message)
    direction = unit(vector)
    if direction is None:
        raise AnswerError("gave a vector without direction: zero or not finite")
    return direction


def _check_model(said: object, spec: EmbedderSpec) -> None:
    """Endpoints say a model's full name where they were asked for a short one, and add versions; some say none."""
    if not isinstance(said, str) or not said:
        return
    short, other = (name.rpartition("/")[2].casefold() for name in (spec.model, said))
    if not (short.startswith(other) or other.startswith(short)):
        message = f"the endpoint answers with another model than the card's {spec.model}: {said[:128]!r}"
        raise SearchError(FailureKind.CONFIG, message)
