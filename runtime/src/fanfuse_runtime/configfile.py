"""Reads the operator's fanfuse.yaml under the environment and the flags: flag > environment > file > default.

Every fault is told at once, each with its origin, its path and what to do; never with a secret value.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configuration.checks import check
from fanfuse_runtime.configuration.document import Document, read_document
from fanfuse_runtime.configuration.explaining import explain
from fanfuse_runtime.configuration.findings import DEFAULT, Finding, KeyPath, Level, Stated, in_reading_order, located
from fanfuse_runtime.configuration.keys import ANY_NAME, core, leaves
from fanfuse_runtime.configuration.overrides import apply, read_overrides


class ConfigError(ValueError):
    """The configuration can't be used; each line says where and what to do."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The effective configuration, and where each value of it was stated."""

    config: FanfuseConfig
    stated: Stated

    def origin(self, path: KeyPath) -> str:
        """`default`, `fanfuse.yaml:12`, `env FANFUSE__…` or `flag --set …`."""
        return self.stated.get(path, DEFAULT)

    def located(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings on this configuration with the origin of what they are about, in the order of the file."""
        return sorted((located(finding, self.stated) for finding in findings), key=in_reading_order)


def load_config(path: Path | None, env: Mapping[str, str] | None = None, flags: Iterable[str] = ()) -> FanfuseConfig:
    """The validated configuration; the defaults where no file is given. `env` None: that of this process.

    Raises `ConfigError`, also for errors of the cross-checks.
    """
    loaded = read_config(path, env, flags)
    refuse_errors(loaded.located(check(loaded.config)))
    return loaded.config


def read_config(path: Path | None, env: Mapping[str, str] | None = None, flags: Iterable[str] = ()) -> LoadedConfig:
    """Like `load_config`, with origins and without the cross-checks."""
    document = Document("") if path is None else _read(path)
    overrides, faults = read_overrides(os.environ if env is None else env, flags)
    if document.broken:
        refuse_errors((*document.findings, *faults))
    apply(overrides, document.data, document.stated)
    _resolve_paths(document, path)
    try:
        # JSON, so that types are strict: a quoted number is text, and `yes` is no truth value.
        config = FanfuseConfig.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        found = [located(finding, document.stated) for finding in explain(error)]
        raise _refusal((*document.findings, *faults, *found)) from None
    refuse_errors((*document.findings, *faults))
    return LoadedConfig(config, document.stated)


def _read(path: Path) -> Document:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    return read_document(raw, str(path))


def _resolve_paths(document: Document, path: Path | None) -> None:
    """A path in the file is relative to the file, a path of a variable or flag to the working directory."""
    for key in leaves():
        if core(key.field.annotation) is Path:
            *above, name = map(str, key.path)
            for place, section in _sections(document.data, above):
                stated = section.get(name)
                if isinstance(stated, str) and stated:
                    in_file = not document.stated[(*place, name)].startswith(("env ", "flag "))
                    section[name] = str(((path.parent if path and in_file else Path()) / stated).absolute())


def _sections(data: Any, pattern: Sequence[str]) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Every section of the data at a pattern whose `<name>` stands for any key."""
    if not isinstance(data, dict):
        return
    if not pattern:
        yield (), data
        return
    for name in list(data) if pattern[0] == ANY_NAME else [pattern[0]]:
        for place, section in _sections(data.get(name), pattern[1:]):
            yield (name, *place), section


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise `ConfigError` with every error among them; warnings pass."""
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    if errors:
        raise _refusal(errors)


def _refusal(errors: Iterable[Finding]) -> ConfigError:
    ordered = sorted(errors, key=in_reading_order)
    return ConfigError("\n".join(dict.fromkeys(map(str, ordered))))
