"""What the model says of a configuration, in the words of whoever wrote the file.

In: a validation error. Out: findings with path and the nearest valid key or value. Never a value that was written.
"""

import difflib
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final, get_args

from pydantic import ValidationError

from fanfuse_contracts.faults import FaultsError
from fanfuse_runtime.configuration.findings import Finding, KeyPath
from fanfuse_runtime.configuration.keys import annotation_at, core, explain_unknown, keys_at

_WANTED: Final = {
    "model_type": "should be a section of keys",
    "dict_type": "should be a mapping",
    "tuple_type": "should be a list",
    "frozen_set_type": "should be a list",
    "string_type": "should be text",
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "int_parsing": "should be a whole number",
    "float_type": "should be a number",
    "float_parsing": "should be a number",
    "bool_type": "should be true or false",
    "bool_parsing": "should be true or false",
    "path_type": "should be text: a path",
    "too_short": "is too short a list: at least {min_length}",
    "too_long": "is too long a list: at most {max_length}",
    "string_too_short": "is too short: at least {min_length} characters",
    "string_too_long": "is too long: at most {max_length} characters",
    "string_pattern_mismatch": "does not have the form {pattern}",
    "missing": "is missing",
}
_FOUND: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
}


def explain(error: ValidationError) -> list[Finding]:
    """One finding for each fault."""
    rows = error.errors(include_url=False)
    around = {row["loc"][:length] for row in rows for length in range(len(row["loc"]))}
    # A list counts as too short when its entries are faulty: those are told.
    told = (row for row in rows if row["type"] != "too_short" or row["loc"] not in around)
    return [finding for row in told for finding in _findings(row)]


def _findings(row: Any) -> Iterator[Finding]:
    path: KeyPath = tuple(part for part in row["loc"] if part != "[key]")
    cause = row.get("ctx", {}).get("error")
    if isinstance(cause, FaultsError):
        yield from (Finding((*path, *inside), message) for inside, message in cause.faults)
    elif row["type"] == "extra_forbidden":
        yield Finding(path, explain_unknown(path))
    elif row["type"] in {"enum", "literal_error"}:
        yield Finding(path, _not_in_set(path, row["input"]))
    else:
        yield Finding(path, _message(row, path))


def _message(row: Any, path: KeyPath) -> str:
    wanted = _WANTED.get(row["type"])
    if wanted is None:
        return str(row["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    message = wanted.format(**row.get("ctx", {}))
    if row["type"] == "missing" or not row["type"].endswith(("_type", "_parsing")):
        return message
    return f"{message}, not {_found(row['input'])}" + _advice(row, path)


def _found(value: object) -> str:
    return "blank" if value is None else _FOUND.get(type(value), "this")


def _advice(row: Any, path: KeyPath) -> str:
    if row["type"] in {"string_type", "path_type"} and isinstance(row["input"], bool | int | float):
        return ": put it in quotes"
    if row["input"] is None:
        return ": leave it out, or give it a value"
    known = keys_at(path) if row["type"] == "model_type" else []
    return f": known keys are {', '.join(known)}" if known else ""


def _not_in_set(path: KeyPath, value: object) -> str:
    words = _words(core(annotation_at(path)))
    if not isinstance(value, str):
        return f"should be one of {', '.join(words)}, not {_found(value)}"
    close = difflib.get_close_matches(value.lower(), words, n=1)
    return f"should be one of {', '.join(words)}" + (f"; did you mean {close[0]!r}?" if close else "")


def _words(wanted: Any) -> list[str]:
    members = wanted if isinstance(wanted, type) and issubclass(wanted, Enum) else get_args(wanted)
    return [str(member.value if isinstance(member, Enum) else member) for member in members]
