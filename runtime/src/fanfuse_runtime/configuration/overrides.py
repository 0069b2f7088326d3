"""Values of the operator's file that the environment or a flag states instead.

In: variables `FANFUSE__SECTION__KEY` and flags `section.key=value`. Out: overrides with their origin, and what is wrong
with them. Blank variables are not set: they neither empty nor widen anything. Lists and mappings are JSON.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fanfuse_runtime.configuration.findings import Finding, KeyPath, show
from fanfuse_runtime.configuration.keys import (
    annotation_at,
    core,
    explain_unknown,
    filled_in,
    is_container,
    is_optional,
    keys_at,
    leaves,
    section_of,
)

PREFIX: Final = "FANFUSE__"
_TRUTH: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True, slots=True)
class Override:
    """One value stated outside of the file."""

    path: KeyPath
    value: Any
    origin: str


class OverrideError(ValueError):
    """An override that can't be used; the message does not repeat its value."""


def variable_of(path: KeyPath) -> str:
    """The variable that states a key: `FANFUSE__RETRIEVAL__ROUTING__MAX_CORPORA`."""
    return PREFIX + "__".join(part if part == "<name>" else str(part).upper() for part in path)


def read_overrides(env: Mapping[str, str], flags: Iterable[str]) -> tuple[list[Override], list[Finding]]:
    """What is stated, the more general path first, the environment before the flags; and every fault."""
    overrides: list[Override] = []
    findings: list[Finding] = []
    for origin, path, text in (*_variables(env), *_flags(flags)):
        try:
            overrides.append(Override(path, _parse(path, text, origin), origin))
        except OverrideError as error:
            findings.append(Finding((), str(error), where=origin))
    return overrides, findings


def stated_variables(env: Mapping[str, str]) -> list[str]:
    """Names of the variables that state a key of the file, in order."""
    return sorted(name for name in env if name.startswith(PREFIX) and env[name].strip())


def _variables(env: Mapping[str, str]) -> Iterator[tuple[str, KeyPath, str]]:
    for name in sorted(stated_variables(env), key=lambda name: name.count("__")):
        yield f"env {name}", tuple(name.removeprefix(PREFIX).lower().split("__")), env[name].strip()


def _flags(flags: Iterable[str]) -> Iterator[tuple[str, KeyPath, str]]:
    for flag in flags:
        path, _, text = flag.partition("=")
        yield f"flag --set {path.strip()}", tuple(path.strip().split(".")), text.strip()


def _parse(path: KeyPath, text: str, origin: str) -> Any:
    if origin.startswith("env") and origin != f"env {variable_of(path)}":
        raise OverrideError(f"variables are written in capitals: {variable_of(path)}")
    annotation = annotation_at(path)
    if annotation is None:
        raise OverrideError(_unknown(path, origin))
    if section := section_of(annotation):
        raise OverrideError(f"is a section: state one of its keys ({', '.join(sorted(section.model_fields))})")
    if not text:
        raise OverrideError("has no value: write path=value, with [] for an empty list and null for none")
    return parse_text(text, annotation)


def parse_text(text: str, annotation: Any) -> Any:
    """The value that a text stands for where this type is wanted; the text itself where it is no such value."""
    if text == "null" and is_optional(annotation):
        return None
    if is_container(annotation):
        return _json(text)
    wanted = core(annotation)
    if wanted is bool:
        return _TRUTH.get(text.lower(), text)
    if wanted in {int, float}:
        try:
            return wanted(text)
        except ValueError:
            return text
    return text


def _json(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except (json.JSONDecodeError, RecursionError):
        raise OverrideError('should be JSON, such as ["a"] or {"a": 1}') from None
    if not isinstance(value, list | dict):
        raise OverrideError('should be a list or a mapping as JSON, such as ["a"] or {"a": 1}')
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise OverrideError("a key stands twice in the JSON: keep one")
    return dict(pairs)


def _refuse_constant(_name: str) -> Any:
    raise OverrideError("NaN and Infinity are no values")


def _unknown(path: KeyPath, origin: str) -> str:
    for length in range(1, len(path)):
        if is_container(annotation_at(path[:length])) and annotation_at(path[: length + 1]) is None:
            return f"{show(path[:length])} is a list: state the whole of it as JSON"
    known = [filled_in(leaf.path, path) for leaf in leaves() if not leaf.in_list]
    # A key that is right and stands in the wrong section is nearer than any that is spelt alike.
    same_key = [one for one in known if one[-1] == path[-1]]
    written = {_as_written(one, origin): None for one in same_key or known}
    close = difflib.get_close_matches(_as_written(path, origin), written, n=1)
    if close:
        return f"unknown key, did you mean {close[0]}?"
    depth = next(length for length in range(len(path) - 1, -1, -1) if length == 0 or keys_at(path[:length]))
    return explain_unknown(path[: depth + 1])


def _as_written(path: KeyPath, origin: str) -> str:
    return variable_of(path) if origin.startswith("env") else show(path)


def apply(overrides: Iterable[Override], data: dict[str, Any], stated: dict[KeyPath, str]) -> None:
    """Put each override into the data of the file, and its origin over that of what it replaces."""
    for override in overrides:
        place: Any = data
        for part in override.path[:-1]:
            place = place.setdefault(part, {}) if isinstance(place, dict) else None
        if not isinstance(place, dict):
            continue  # the file has no section there: that is told as a fault of the file
        place[override.path[-1]] = override.value
        for path in [path for path in stated if path[: len(override.path)] == override.path]:
            del stated[path]
        stated.update(dict.fromkeys(_nodes(override.value, override.path), override.origin))


def _nodes(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, item in inside:
        yield from _nodes(item, (*path, part))
