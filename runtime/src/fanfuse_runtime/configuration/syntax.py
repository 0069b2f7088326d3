"""Bytes to YAML nodes, or what is wrong with the text in plain words.

Never a message of the parser as it is: those quote the line, and a line may hold a secret.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml

MAX_NESTING: Final = 100
"""Levels of brackets and indentation: far above any configuration, and below what the composer can bear."""
_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSES = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_QUOTED = re.compile(r"\s*['\"].*['\"]")
_EMPTY: Final = "the file is empty: write '{}' if the defaults are meant"
_TAB: Final = "a tab: indent with spaces"


class BrokenTextError(Exception):
    """A text that is no document; `faults` are lines (from 1) and what is wrong there."""

    def __init__(self, line: int, message: str, *more: tuple[int, str]) -> None:
        super().__init__(message)
        self.faults = ((line, message), *more)


def compose(raw: bytes) -> yaml.Node:
    """The root node of the one document in a file. Raises `BrokenTextError`."""
    text = _decode(raw)
    try:
        _survey(text)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _plain(error, text) from None
    except yaml.YAMLError:
        raise BrokenTextError(1, "is no YAML") from None
    if root is None or (isinstance(root, yaml.ScalarNode) and root.tag == "tag:yaml.org,2002:null"):
        raise BrokenTextError(1, _EMPTY)
    return root


def _decode(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BrokenTextError(line, f"is not UTF-8 (byte 0x{raw[error.start]:02x}): save the file as UTF-8") from None
    if odd := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        raise BrokenTextError(line, f"the character U+{ord(odd[0]):04X} may not stand in a YAML file: remove it")
    return text


def _survey(text: str) -> None:
    """Refuse more than one document and endless nesting before anything is built."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, _OPENS) - isinstance(event, _CLOSES)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if depth > MAX_NESTING:
            raise BrokenTextError(_line(event.start_mark), f"is nested deeper than {MAX_NESTING} levels")
        if documents > 1:
            raise BrokenTextError(_line(event.start_mark), "a second document begins here: a file holds one")


def _line(mark: Any) -> int:
    return int(mark.line) + 1 if mark else 1


def _plain(error: yaml.MarkedYAMLError, text: str) -> BrokenTextError:
    line = _line(error.problem_mark or error.context_mark)
    tabs = list(_tabs(text.split("\n")))
    if line in tabs:
        return BrokenTextError(tabs[0], _TAB, *((tab, _TAB) for tab in tabs[1:]))
    told = [part for part in (error.context, error.problem) if part]
    return BrokenTextError(line, "is no YAML: " + (_QUOTED.sub("", ", ".join(told)) or "cannot be read"))


def _tabs(lines: Sequence[str]) -> Iterator[int]:
    for number, line in enumerate(lines, start=1):
        if "\t" in line[: len(line) - len(line.lstrip())] and line.strip():
            yield number
