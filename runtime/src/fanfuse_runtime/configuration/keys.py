"""The keys that the operator's file may hold, read off its model: what stands where, and which one was probably meant.

Nothing about a single key is written here, so that a key added to the model is known everywhere at once.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configuration.findings import KeyPath, show

ANY_NAME: Final = "<name>"
"""Stands for the keys of a mapping that the operator names."""
ANY_POSITION: Final = 0
_VERY_CLOSE: Final = 0.8
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the model."""

    path: KeyPath
    """With `ANY_NAME` and `ANY_POSITION` for what the operator names and counts."""
    owner: type[BaseModel]
    field: FieldInfo
    section: type[BaseModel] | None
    """What its value, or each of its entries, holds; None for scalars, and lists and mappings of scalars."""

    @property
    def in_list(self) -> bool:
        """True if it is stated once for each entry of a list."""
        return any(isinstance(part, int) for part in self.path)


def core(annotation: Any) -> Any:
    """The type without `Annotated` and without `| None`."""
    if get_origin(annotation) is Annotated:
        return core(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return core(next(part for part in get_args(annotation) if part is not NoneType))
    return annotation


def is_optional(annotation: Any) -> bool:
    """True if `null` is a value of it."""
    return get_origin(annotation) in {Union, UnionType} and NoneType in get_args(annotation)


def is_container(annotation: Any) -> bool:
    """True for lists, sets and mappings."""
    return get_origin(core(annotation)) in {tuple, frozenset, dict}


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The model, where keys are fixed."""
    bare = core(annotation)
    return bare if isinstance(bare, type) and issubclass(bare, BaseModel) else None


def _items(annotation: Any) -> Any:
    bare = core(annotation)
    return get_args(bare)[-1 if get_origin(bare) is dict else 0]


def annotation_at(path: Sequence[int | str]) -> Any | None:
    """Type of the value at a path; None where no such key may stand."""
    annotation: Any = FanfuseConfig
    for part in path:
        section = section_of(annotation)
        if section is not None:
            field = section.model_fields.get(str(part))
            if field is None:
                return None
            annotation = field.annotation
        elif is_container(annotation) and isinstance(part, str) is (get_origin(core(annotation)) is dict):
            annotation = _items(annotation)
        else:
            return None
    return annotation


def keys_at(path: Sequence[int | str]) -> list[str]:
    """The keys that may stand at a path, sorted; empty where it is no section."""
    section = section_of(annotation_at(path))
    return sorted(section.model_fields) if section else []


@cache
def all_keys() -> tuple[Key, ...]:
    """Every key in the order of the model."""
    return tuple(_walk(FanfuseConfig, ()))


def leaves() -> Iterator[Key]:
    """Every key that holds a value."""
    return (key for key in all_keys() if key.section is None)


def _walk(model: type[BaseModel], above: KeyPath) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        path: KeyPath = (*above, name)
        annotation, inside = field.annotation, path
        while is_container(annotation):
            inside = (*inside, ANY_NAME if get_origin(core(annotation)) is dict else ANY_POSITION)
            annotation = _items(annotation)
        section = section_of(annotation)
        yield Key(path, model, field, section)
        if section:
            yield from _walk(section, inside)


def explain_unknown(path: KeyPath) -> str:
    """What to do about a key that may not stand at a path."""
    key, here = str(path[-1]), keys_at(path[:-1])
    if close := difflib.get_close_matches(key, here, n=1, cutoff=_VERY_CLOSE):
        return f"unknown key, did you mean {close[0]!r}?"
    if places := _places_of(key, path):
        return f"{key!r} does not stand here but at {' or '.join(places)}"
    if close := difflib.get_close_matches(key, here, n=1):
        return f"unknown key, did you mean {close[0]!r}?"
    return f"unknown key; known here: {', '.join(here)}"


def _places_of(key: str, wrong: KeyPath) -> list[str]:
    """Where a key of this name stands, with the names and positions of the wrong path where they agree."""
    places = [show(filled_in(known.path, wrong)) for known in all_keys() if known.path[-1] == key]
    near = [place for place in places if place.split(".")[0] == show(wrong).split(".")[0]]
    return next((found for found in (near, places) if 0 < len(found) <= _FEW), [])


def filled_in(pattern: KeyPath, path: Sequence[int | str]) -> KeyPath:
    """A pattern with the names and positions of a path, as far as both go the same way."""
    filled: list[int | str] = []
    for at, part in enumerate(pattern):
        known = at < len(path) and tuple(filled) == tuple(path[:at])
        free = part == ANY_NAME or isinstance(part, int)
        filled.append(path[at] if known and free and isinstance(path[at], type(part)) else part)
    return tuple(filled)
