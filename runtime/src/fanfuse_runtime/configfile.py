"""Reads the operator's fanfuse.yaml under the environment and the flags: flag > environment > file > default.

Every fault is told at once, each with its origin, its path and what to do; never with a secret value.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configuration.checks import check
from fanfuse_runtime.configuration.document import Document, read_document
from fanfuse_runtime.configuration.explaining import explain
from fanfuse_runtime.configuration.findings import DEFAULT, Finding, KeyPath, Level, Stated, in_reading_order, located
from fanfuse_runtime.configuration.overrides import apply, read_overrides

_PROFILE: KeyPath = ("retrieval", "routing", "profile")


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
    _resolve_profile(document, path)
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


def _resolve_profile(document: Document, path: Path | None) -> None:
    """A path in the file is relative to the file, a path of a variable or flag to the working directory."""
    routing: Any = document.data
    for part in _PROFILE[:-1]:
        routing = routing.get(part) if isinstance(routing, dict) else None
    profile = routing.get("profile") if isinstance(routing, dict) else None
    if isinstance(profile, str) and profile:
        in_file = not document.stated[_PROFILE].startswith(("env ", "flag "))
        routing["profile"] = str(((path.parent if path and in_file else Path()) / profile).absolute())


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise `ConfigError` with every error among them; warnings pass."""
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    if errors:
        raise _refusal(errors)


def _refusal(errors: Iterable[Finding]) -> ConfigError:
    ordered = sorted(errors, key=in_reading_order)
    return ConfigError("\n".join(dict.fromkeys(map(str, ordered))))
