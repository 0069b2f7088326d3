"""`of_checked` makes what validation makes, of fields that need none."""

import pytest
from pydantic import ValidationError

from fanfuse_contracts.enums import Kind, Strategy
from fanfuse_contracts.plan import CorpusRoutingDecision, Lane
from fanfuse_contracts.quorum import Requirement

FIELDS = {
    "name": "k3f09c1",
    "corpus": "docs",
    "corpora": (),
    "kind": Kind.KEYWORD,
    "backend": "main",
    "pool": "main",
    "weight": 0.5,
    "window": 100,
    "filter_digest": "79bf6ddb2bbed956",
    "requirement": Requirement.SHOULD,
}


def test_it_equals_the_validated_model():
    made, validated = Lane.of_checked(dict(FIELDS)), Lane.model_validate(FIELDS)
    assert made == validated
    assert hash(made) == hash(validated)
    assert made.to_json() == validated.to_json()
    assert made.model_dump(exclude_unset=True) == validated.model_dump(exclude_unset=True)


def test_it_is_frozen_and_copies_like_any_other():
    made = Lane.of_checked(dict(FIELDS))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(made, "weight", 1.0)  # noqa: B010 - mypy knows that it is read-only
    copy = made.model_copy(update={"weight": 0.25})
    assert (copy.weight, made.weight) == (0.25, 0.5)
    assert copy == Lane.model_validate(FIELDS | {"weight": 0.25})
    assert Lane.of_checked(dict(FIELDS)).model_fields_set == set(FIELDS)


def test_stating_what_differs_is_a_copy_and_stating_the_same_is_none():
    lane = Lane.model_validate(FIELDS)
    assert lane.stating(weight=0.5) is lane
    stated = lane.stating(weight=0.25, pool="other")
    assert stated == Lane.model_validate(FIELDS | {"weight": 0.25, "pool": "other"})
    assert lane == Lane.model_validate(FIELDS)


def test_words_are_written_as_strings_and_stay_words_in_python():
    lane = Lane.model_validate(FIELDS)
    assert type(lane.model_dump(mode="json")["kind"]) is str
    assert lane.model_dump()["kind"] is Kind.KEYWORD
    assert b'"kind":"keyword"' in lane.to_json()
    assert Lane.from_json(lane.to_json()).kind is Kind.KEYWORD


def test_every_class_knows_its_own_fields():
    assert Lane._every_field == set(Lane.model_fields)
    decision = CorpusRoutingDecision.of_checked(
        {
            "strategy": Strategy.ALL,
            "configured": Strategy.ALL,
            "selected_corpora": ("docs",),
            "scores": (),
            "fan_out": True,
            "candidate_n": 1,
            "reason": "r",
        }
    )
    assert CorpusRoutingDecision.from_json(decision.to_json()) == decision
