"""Reads the operator's fanfuse.yaml: unknown keys, duplicates and tabs are refused with file, path and nearest key."""

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from fanfuse_contracts.config import FanfuseConfig


class ConfigError(ValueError):
    """The file can't be used; the message says where and what to do."""


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses a key that stands twice, where plain YAML keeps the last one in silence."""


def _mapping(loader: _UniqueKeyLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise ConfigError(f"line {key_node.start_mark.line + 1}: key {key!r} stands twice")
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load_config(path: Path | None) -> FanfuseConfig:
    """The validated configuration; the defaults where no file is given. Raises `ConfigError`."""
    if path is None:
        return FanfuseConfig()
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
        return FanfuseConfig.model_validate(data or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ConfigError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except ValidationError as error:
        rows = [_explain(row["loc"], row["type"], row["msg"]) for row in error.errors()]
        raise ConfigError(f"{path}: " + "; ".join(rows)) from error


def _explain(loc: tuple[int | str, ...], kind: str, message: str) -> str:
    where = ".".join(map(str, loc)) or "the file"
    if kind != "extra_forbidden":
        return f"{where}: {message}"
    nearest = difflib.get_close_matches(str(loc[-1]), _keys_at(loc[:-1]), n=1)
    hint = f", did you mean {nearest[0]!r}?" if nearest else f"; known here: {', '.join(_keys_at(loc[:-1]))}"
    return f"{where}: unknown key{hint}"


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = FanfuseConfig
    for part in loc:
        if isinstance(part, int):
            continue
        annotation: Any = model.model_fields[part].annotation
        while getattr(annotation, "__args__", None):
            annotation = annotation.__args__[0]
        model = annotation
    return sorted(model.model_fields)
