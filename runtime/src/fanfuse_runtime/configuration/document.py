"""YAML text to plain data with the line of every key. Never a message that quotes the text: it may hold secrets.

In: the bytes of a file. Out: mappings, lists and scalars as JSON has them, and what is wrong with the text, all of it.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from fanfuse_runtime.configuration.findings import Finding, KeyPath
from fanfuse_runtime.configuration.scalars import ScalarError, scalar_value
from fanfuse_runtime.configuration.syntax import BrokenTextError, compose

MAX_DEPTH: Final = 32
MAX_ALIASED: Final = 50_000
"""Most nodes that aliases may stand for: a few lines can otherwise unfold into billions."""
_MERGE: Final = "tag:yaml.org,2002:merge"
_PLAIN_TAGS: Final = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


@dataclass(slots=True)
class Document:
    """What a file says."""

    name: str
    data: dict[str, Any] = field(default_factory=dict)
    stated: dict[KeyPath, str] = field(default_factory=dict)
    """File and line of every node."""
    findings: list[Finding] = field(default_factory=list)
    broken: bool = False
    """True: there is no data to speak of."""

    def note(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        """Add a finding at the line of a node."""
        self.findings.append(Finding(path, message, where=f"{self.name}:{_line(node)}"))


def read_document(raw: bytes, name: str) -> Document:
    """The data of a file, and every finding about its text."""
    document = Document(name)
    try:
        root = compose(raw)
        _refuse_bombs(root)
    except BrokenTextError as error:
        document.findings += [Finding((), message, where=f"{name}:{line}") for line, message in error.faults]
        document.broken = True
        return document
    if isinstance(root, yaml.MappingNode):
        document.data = _mapping(root, (), document)
    else:
        document.note(root, (), "the file must be a mapping of sections")
        document.broken = True
    return document


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _refuse_bombs(root: yaml.Node) -> None:
    """Refuse what unfolds into far more than was written, or into itself."""
    known: dict[int, tuple[int, int]] = {}

    def measure(node: yaml.Node, depth: int) -> tuple[int, int]:
        if id(node) not in known:
            if depth > MAX_DEPTH:
                raise BrokenTextError(_line(node), f"is nested deeper than {MAX_DEPTH} levels, or refers to itself")
            parts = [measure(part, depth + 1) for part in _children(node)]
            known[id(node)] = 1 + sum(size for size, _ in parts), 1 + max((height for _, height in parts), default=0)
        size, height = known[id(node)]
        if depth + height > MAX_DEPTH + 1:
            raise BrokenTextError(_line(node), f"is nested deeper than {MAX_DEPTH} levels")
        return size, height

    size, _ = measure(root, 0)
    if size - len(known) > MAX_ALIASED:
        raise BrokenTextError(_line(root), f"aliases unfold into more than {MAX_ALIASED} values")


def _value(node: yaml.Node, path: KeyPath, document: Document) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, path, document)
    if node.tag not in _PLAIN_TAGS:
        document.note(node, path, "a YAML tag is not supported here")
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, document)
    return [_item(part, (*path, at), document) for at, part in enumerate(node.value)]


def _scalar(node: yaml.ScalarNode, path: KeyPath, document: Document) -> Any:
    try:
        return scalar_value(node)
    except ScalarError as error:
        document.note(node, path, str(error))
        return None


def _item(node: yaml.Node, path: KeyPath, document: Document) -> Any:
    document.stated[path] = f"{document.name}:{_line(node)}"
    return _value(node, path, document)


def _mapping(node: yaml.MappingNode, path: KeyPath, document: Document) -> dict[str, Any]:
    data = {}
    for key, value in _pairs(node, path, document).values():
        # Every key of ours is text: `no`, `on` and `2024` are taken as they are written.
        inside = (*path, key.value)
        document.stated[inside] = f"{document.name}:{_line(key)}"
        data[key.value] = _value(value, inside, document)
    return data


def _pairs(node: yaml.MappingNode, path: KeyPath, document: Document) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """Key and value by the key's text; what is merged in stands behind what is written."""
    written: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for key, value in node.value:
        if key.tag == _MERGE:
            for source in _sources(value, path, document):
                merged = _pairs(source, path, document) | merged
        elif not isinstance(key, yaml.ScalarNode):
            document.note(key, path, "a key must be a word")
        elif key.value in written:
            first = _line(written[key.value][0])
            document.note(key, (*path, key.value), f"the key stands twice, first on line {first}: keep one")
        else:
            written[key.value] = key, value
    return merged | written


def _sources(value: yaml.Node, path: KeyPath, document: Document) -> list[yaml.MappingNode]:
    parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
    if not all(isinstance(part, yaml.MappingNode) for part in parts):
        document.note(value, path, "'<<' takes a mapping, or a list of mappings")
    return [part for part in parts if isinstance(part, yaml.MappingNode)]
