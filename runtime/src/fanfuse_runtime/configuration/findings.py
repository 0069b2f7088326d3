"""What is wrong with a configuration, as data: where, which key, and what to do.

No message repeats a value that may be a secret.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

KeyPath = tuple[int | str, ...]
"""Keys and list positions from the top of the file down to a value."""
Stated = Mapping[KeyPath, str]
"""Where each value was stated: `fanfuse.yaml:12`, `env FANFUSE__…` or `flag --set …`. Not in it: the default."""
DEFAULT: Final = "default"
_PLAIN_KEY = re.compile(r"[\w-]+")


class Level(StrEnum):
    """Whether a configuration can be used in spite of a finding."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, or something that is probably not meant."""

    path: KeyPath
    message: str
    level: Level = Level.ERROR
    where: str = ""
    """As in `Stated`; empty: not known."""

    def __str__(self) -> str:
        warning = "warning" if self.level is Level.WARNING else ""
        return ": ".join(part for part in (self.where, warning, show(self.path), self.message) if part)


def show(path: KeyPath) -> str:
    """A path as people write it: `corpora[0].card.readers`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part) or part == "<name>":
            text += f".{part}" if text else part
        else:
            text += f"[{_shortened(part)!r}]"
    return text


def _shortened(key: str) -> str:
    """A key that looks like an address is a value in the wrong place, and may hold a password."""
    scheme = re.split(r"[:@]", key, maxsplit=1)[0]
    return key if scheme == key else f"{scheme}…"


def in_reading_order(finding: Finding) -> tuple[str, int]:
    """Sorts findings of one file by line, and those of variables and flags behind each other."""
    name, _, line = finding.where.rpartition(":")
    return (name, int(line)) if line.isdigit() else (finding.where, 0)


def origin_of(path: KeyPath, stated: Stated) -> str:
    """Where a value, or else the nearest thing around it, was stated."""
    for length in range(len(path), -1, -1):
        if path[:length] in stated:
            return stated[path[:length]]
    return DEFAULT


def located(finding: Finding, stated: Stated) -> Finding:
    """The same with its origin."""
    where = origin_of(finding.path, stated)
    return finding if finding.where or where == DEFAULT else replace(finding, where=where)
