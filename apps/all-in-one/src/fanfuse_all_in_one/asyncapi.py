"""The AsyncAPI 3.0 document of the bus, from the table of channels and the models' JSON schemas.

In: `flow.CHANNELS`. Out: a plain dict (https://www.asyncapi.com/docs/reference/specification/v3.0.0). No name of a
subject, message or participant is written here.
"""

import inspect
from typing import Any

from pydantic.json_schema import models_json_schema

from fanfuse_contracts import subjects
from fanfuse_contracts.base import Model
from fanfuse_contracts.flow import CHANNELS, LIVE_RETRIEVED, RETRIEVED, SERVER, Channel
from fanfuse_runtime import VERSION

_SCHEMA = "#/components/schemas/{model}"


def parameters_of(channel: Channel) -> tuple[str, ...]:
    """Names of the tokens that the wildcards of a channel's subject stand for, from the subject's builder."""
    builder = getattr(subjects, RETRIEVED.name if channel is LIVE_RETRIEVED else channel.name)
    return tuple(inspect.signature(builder).parameters)


def address_of(channel: Channel) -> str:
    """The subject with named tokens, such as `fanfuse.v1.query.fused.{tenant}.{query_id}`."""
    fixed = [token for token in channel.subject.split(".") if token not in {"*", ">"}]
    return ".".join([*fixed, *(f"{{{name}}}" for name in parameters_of(channel))])


def build_asyncapi() -> dict[str, Any]:
    """The whole document."""
    models = _models()
    _, definitions = models_json_schema([(model, "validation") for model in models], ref_template=_SCHEMA)
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Fanfuse",
            "version": VERSION,
            "description": "Every subject of the bus. Generated from contracts by `make docs`; do not edit.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"nats": {"host": "127.0.0.1:4222", "protocol": "nats"}},
        "channels": {name: entry for channel in CHANNELS for name, entry in _channels(channel)},
        "operations": {name: entry for channel in CHANNELS for name, entry in _operations(channel)},
        "components": {
            "messages": {model.__name__: _message(model) for model in models},
            "schemas": definitions["$defs"],
        },
    }


def _models() -> list[type[Model]]:
    used = [model for channel in CHANNELS for model in (channel.message, channel.reply) if model is not None]
    return list(dict.fromkeys(used))


def _message(model: type[Model]) -> dict[str, Any]:
    summary = inspect.cleandoc(model.__doc__ or "").splitlines()[0]
    return {"name": model.__name__, "summary": summary, "payload": {"$ref": _SCHEMA.format(model=model.__name__)}}


def _messages(model: type[Model] | None) -> dict[str, Any]:
    return {} if model is None else {model.__name__: {"$ref": f"#/components/messages/{model.__name__}"}}


def _channels(channel: Channel) -> list[tuple[str, dict[str, Any]]]:
    entry: dict[str, Any] = {
        "address": address_of(channel),
        "description": channel.what,
        "messages": _messages(channel.message),
        "parameters": {name: {"description": f"One token: {name}."} for name in parameters_of(channel)},
        "x-delivery": channel.delivery.value,
    }
    if channel.stream is not None:
        entry["x-stream"] = channel.stream
    found = [(channel.name, entry)]
    if channel.reply is not None:
        reply = {"address": None, "description": "The caller's inbox.", "messages": _messages(channel.reply)}
        found.append((f"{channel.name}_reply", reply))
    return found


def _operations(channel: Channel) -> list[tuple[str, dict[str, Any]]]:
    sends = [_operation(channel, who, "send") for who in channel.publishers if who != SERVER]
    return [*sends, *(_operation(channel, who, "receive") for who in channel.subscribers)]


def _operation(channel: Channel, who: str, action: str) -> tuple[str, dict[str, Any]]:
    entry: dict[str, Any] = {"action": action, "channel": {"$ref": f"#/channels/{channel.name}"}, "x-participant": who}
    if channel.reply is not None:
        entry["reply"] = {"channel": {"$ref": f"#/channels/{channel.name}_reply"}}
    return f"{who.replace('-', '_')}_{action}_{channel.name}", entry
