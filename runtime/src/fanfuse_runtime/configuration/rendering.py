"""The effective configuration as an operator reads it. Secrets are masked by their type; everything else is shown."""

from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configuration.findings import KeyPath

Origin = Callable[[KeyPath], str]


def plain(value: Any) -> Any:
    """A model or value as JSON has it; sets are sorted, a `SecretStr` is its mask."""
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(plain, value))
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return value if value is None or isinstance(value, bool | int | float | str) else _text(value)


def _text(value: Any) -> str:
    return value.as_posix() if isinstance(value, Path) else str(value)


def render(config: FanfuseConfig, origin: Origin | None = None) -> str:
    """YAML that reads back as the same configuration; with the origin of each value behind it."""
    lines = _block(plain(config), (), 0)
    return "".join(f"{text}{_comment(path, origin)}\n" for text, path in lines)


def value_origins(config: FanfuseConfig, origin: Origin) -> dict[KeyPath, str]:
    """The origin of each value."""
    return {path: origin(path) for _, path in _block(plain(config), (), 0) if path is not None}


def _comment(path: KeyPath | None, origin: Origin | None) -> str:
    return "" if path is None or origin is None else f"  # {origin(path)}"


def _block(value: Any, path: KeyPath, indent: int) -> Iterator[tuple[str, KeyPath | None]]:
    """Lines with the path of the value on them; None where a line only opens a section."""
    for key, item in value.items():
        inside, head = (*path, key), f"{' ' * indent}{_flow(key)}:"
        if isinstance(item, dict) and item:
            yield head, None
            yield from _block(item, inside, indent + 2)
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            yield head, None
            for at, part in enumerate(item):
                yield from _entry(part, (*inside, at), indent + 2)
        else:
            yield f"{head} {_flow(item)}", inside


def _entry(value: dict[str, Any], path: KeyPath, indent: int) -> Iterator[tuple[str, KeyPath | None]]:
    for number, (text, inside) in enumerate(_block(value, path, indent + 2)):
        yield (text if number else f"{' ' * indent}- {text.lstrip()}"), inside


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")
