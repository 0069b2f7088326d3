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
CALLERS_OWN: Final = frozenset({"filter", "principal", "vector", "hyde_vector"})
"""What a caller wrote stands in events as it was: nothing may be dropped from it, so nothing unknown is let in."""


def golden(name: str) -> Any:
    return json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))


def dumped(model: type[Model], body: Any) -> Any:
    return json.loads(model.from_json(json.dumps(body).encode()).to_json())


def with_new_fields(body: Any) -> Any:
    """The same body with an unknown field in every object but a caller's own."""
    match body:
        case dict():
            grown = {key: value if key in CALLERS_OWN else with_new_fields(value) for key, value in body.items()}
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


def test_every_model_says_who_writes_it() -> None:
    others = {name for name, model in MODELS.items() if not issubclass(model, Event | Written)}
    assert others == set()


def test_a_message_without_a_body_stays_without() -> None:
    assert [golden(channel.name)["body"] for channel in CHANNELS if channel not in WITH_BODY] == [None]
