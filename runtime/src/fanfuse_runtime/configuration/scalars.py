"""One YAML scalar to the value it stands for.

Refuses what YAML 1.1 reads in a way nobody expects: 010 as eight, 1:30 as ninety.
"""

import re
from typing import Final

import yaml

_TAG: Final = "tag:yaml.org,2002:"
_TEXT = frozenset({"str", "timestamp", "value"})
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)")
_QUOTE_IT: Final = "put it in quotes if it is text"
_constructor = yaml.SafeLoader("")


class ScalarError(ValueError):
    """A value that is not taken; the message does not repeat it."""


def scalar_value(node: yaml.ScalarNode) -> str | bool | int | float | None:
    """Text, truth value, number or None."""
    kind = node.tag.removeprefix(_TAG)
    if kind in _TEXT:
        return _text(node.value)
    if kind == "int" and not _WHOLE.fullmatch(node.value):
        raise ScalarError(f"a number with a leading zero or a colon is read in several ways; {_QUOTE_IT}")
    if kind == "float" and ":" in node.value:
        raise ScalarError(f"a number with a colon is read in several ways; {_QUOTE_IT}")
    if kind not in {"null", "bool", "int", "float"}:
        raise ScalarError("a YAML tag is not supported; put the value in quotes if it begins with '!'")
    try:
        value: bool | int | float | None = _constructor.construct_object(node)
    except (ValueError, yaml.YAMLError):
        raise ScalarError(f"is no {kind}; {_QUOTE_IT}") from None
    return value


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ScalarError("holds half of a surrogate pair: write valid Unicode") from None
    return value
