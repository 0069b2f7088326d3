"""Schemas of custom resources as their operators publish them, made strict: no field that they do not list."""

from pathlib import Path
from typing import Any

import yaml


def strict_schema(path: Path, api_version: str, kind: str) -> dict[str, Any]:
    """The schema of one kind of a file of definitions; raises `StopIteration` where the file has none."""
    definitions = (each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each)
    definition = next(each for each in definitions if each["spec"]["names"]["kind"] == kind)
    wanted = api_version.rpartition("/")[2]
    version = next(each for each in definition["spec"]["versions"] if each["name"] == wanted)
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    _close(schema)
    # Of every object, whether its definition lists them or not.
    schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def _close(schema: dict[str, Any]) -> None:
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema.setdefault("additionalProperties", False)
    if "(?i)" in schema.get("pattern", ""):
        schema["pattern"] = f"(?i){schema['pattern'].replace('(?i)', '')}"  # as Python's re wants it
    if schema.pop("x-kubernetes-int-or-string", False):
        schema.pop("type", None)
    for below in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(below, dict):
            _close(below)
