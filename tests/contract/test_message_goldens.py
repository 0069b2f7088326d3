"""Messages of a real flow, stored when their version was made, replayed through the current models and back.

In: tests/contract/goldens/messages (written by tests/flow/capture_messages.py). A change of the contract that breaks a
rolling upgrade breaks a test here: then the change is wrong, not the golden.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from fanfuse_contracts.base import Event, Model, Written
from fanfuse_contracts.flow import CHANNELS, Channel

GOLDENS: Final = Path(__file__).parent / "goldens" / "messages"
WITH_BODY: Final = [channel for channel in CHANNELS if channel.message is not None]
MODELS: Final[dict[str, type[Model]]] = {
    **{channel.name: channel.message for channel in CHANNELS if channel.message is not None},
    **{f"{channel.name}.reply": channel.reply for channel in CHANNELS if channel.reply is not None},
}
NEW: Final = {"field_of_a_later_version": {"nested": [1, None, "text"]}}
GUARDED: Final = frozenset({"filter", "principal"})
"""Never relaxed: dropping an unknown part of these would widen what is found."""
MAPPINGS: Final = frozenset({"metadata", "fallbacks"})
"""Objects whose keys are data."""
PREVIOUS: Final = GOLDENS.parent / "messages-previous"
"""The messages of the version before: a newer process reads them, and loses nothing that stands in them."""


def golden(name: str) -> Any:
    return json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))


def dumped(model: type[Model], body: Any) -> Any:
    return json.loads(model.from_json(json.dumps(body).encode()).to_json())


def holds(whole: Any, part: Any) -> bool:
    """True if everything in `part` stands in `whole`, at every depth."""
    match part:
        case dict():
            return all(key in whole and holds(whole[key], value) for key, value in part.items())
        case list():
            return len(whole) == len(part) and all(map(holds, whole, part))
        case _:
            return bool(whole == part)


def with_new_fields(body: Any) -> Any:
    """The same body with an unknown field in every object but the guarded ones."""
    kept = GUARDED | MAPPINGS
    match body:
        case dict():
            grown = {key: value if key in kept else with_new_fields(value) for key, value in body.items()}
            return grown if is_mapping(body) else grown | NEW
        case list():
            return [with_new_fields(item) for item in body]
        case _:
            return body


def is_mapping(body: dict[str, Any]) -> bool:
    """True for an object whose keys are data, such as the headers of a dead letter."""
    return not body or any("-" in key or key == "traceparent" for key in body)


def test_every_channel_has_its_golden_and_no_golden_is_left_over() -> None:
    wanted = {channel.name for channel in CHANNELS} | MODELS.keys()
    assert {path.stem for path in GOLDENS.glob("*.json")} == wanted


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.name)
def test_a_subject_is_of_its_channel(channel: Channel) -> None:
    subject = golden(channel.name)["subject"].split(".")
    pattern = channel.subject.split(".")
    assert all(wanted in {"*", ">", found} for wanted, found in zip(pattern, subject, strict=False))
    assert len(subject) == len(pattern) or pattern[-1] == ">"


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_message_survives_the_current_models(name: str) -> None:
    body = golden(name)["body"]
    assert dumped(MODELS[name], body) == body


@pytest.mark.parametrize("name", sorted(name for name, model in MODELS.items() if issubclass(model, Event)))
def test_an_event_of_a_later_version_is_read(name: str) -> None:
    """A rolling upgrade loses nothing: what is unknown is ignored, everywhere in an event."""
    body = golden(name)["body"]
    assert body["schema_version"] == 1
    grown = with_new_fields(body)
    assert grown != body
    assert dumped(MODELS[name], grown) == body
    with pytest.raises(ValidationError, match="schema_version"):
        dumped(MODELS[name], body | {"schema_version": 2})


@pytest.mark.parametrize("name", sorted(name for name, model in MODELS.items() if issubclass(model, Written)))
def test_an_unknown_field_of_a_caller_is_refused(name: str) -> None:
    """A typo is never ignored."""
    with pytest.raises(ValidationError, match="field_of_a_later_version"):
        dumped(MODELS[name], golden(name)["body"] | NEW)


@pytest.mark.parametrize("name", sorted(MODELS.keys() & {path.stem for path in PREVIOUS.glob("*.json")}))
def test_a_message_of_the_version_before_is_read_whole(name: str) -> None:
    body = json.loads((PREVIOUS / f"{name}.json").read_text(encoding="utf-8"))["body"]
    assert holds(dumped(MODELS[name], body), body)


@pytest.mark.parametrize("part", sorted(GUARDED))
def test_an_unknown_part_of_a_filter_or_principal_is_never_dropped(part: str) -> None:
    body = golden("query_classified")["body"]
    parts: dict[str, Any] = {"filter": {"field": "year", "op": "eq", "value": 1}, "principal": {"id": "u1"}}
    given = parts[part]
    body["query"] |= {part: given}
    assert dumped(MODELS["query_classified"], body)["query"][part]
    with pytest.raises(ValidationError, match="field_of_a_later_version"):
        dumped(MODELS["query_classified"], body | {"query": body["query"] | {part: given | NEW}})


def test_every_model_says_who_writes_it() -> None:
    others = {name for name, model in MODELS.items() if not issubclass(model, Event | Written)}
    assert others == set()


def test_a_message_without_a_body_stays_without() -> None:
    assert [golden(channel.name)["body"] for channel in CHANNELS if channel not in WITH_BODY] == [None]
