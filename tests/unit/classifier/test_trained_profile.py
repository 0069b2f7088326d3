"""The file of a trained scorer: readable, and refused whole where anything does not fit."""

import json

import pytest

from fanfuse_classifier.adapters.profiles import ProfileError, load_trained, read_profile
from fanfuse_classifier.domain.profile import Profile
from tests.unit.classifier.tiny_profile import tiny, tiny_profile


def refused(tmp_path, content):
    path = tmp_path / "profile.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(ProfileError) as caught:
        read_profile(path)
    message = str(caught.value)
    assert str(path) in message
    assert "fanfuse routing fit" in message
    return message


def test_it_is_written_with_one_feature_per_line_and_read_back():
    profile = tiny_profile()
    lines = profile.to_lines()

    assert '["wing",3,[2.0,-1.0,-1.0]],' in lines.splitlines()
    assert Profile.from_json(lines.encode()) == profile
    assert Profile.from_json(lines.encode()).to_lines() == lines


def test_no_features_at_all_is_a_profile_too():
    profile = tiny_profile(**{"model.features": {}})

    assert Profile.from_json(profile.to_lines().encode()) == profile


def test_a_missing_file_names_itself_and_the_setting(tmp_path):
    with pytest.raises(ProfileError, match=r"nowhere\.json: can't be read .*retrieval\.routing\.profile"):
        load_trained(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": 2}, "version: "),
        ({"format": "pickle"}, "format: "),
        ({"surprise": 1}, "surprise: "),
        ({"model.surprise": 1}, "model.surprise: "),
        ({"tenant": "No Tenant"}, "tenant: "),
        ({"model.temperature": 0.0}, "model.temperature: "),
        ({"model.floor": 1.0}, "model.floor: "),
        ({"model.bias": [0.0, 0.0]}, "bias: 2 numbers for 3 corpora"),
        ({"model.corpora": ["aero", "code", "aero"]}, "corpora: an id stands twice"),
        ({"model.features": {"word": [["wing", 3, [1.0, 2.0]]]}}, "'wing' has 2 weights for 3 corpora"),
        ({"model.features": {"word": [["wing", 13, [1.0, 2.0, 3.0]]]}}, "'wing' is in 13 of 12 queries"),
        ({"model.features": {"word": [["wing", 1, [1.0] * 3]] * 2}}, "'wing' stands twice"),
        ({"model.features": {"smell": []}}, "model.features.smell"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path, changes, told):
    assert told in refused(tmp_path, tiny(**changes))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", '"a"'])
def test_what_is_no_number_is_refused(tmp_path, number):
    text = json.dumps(tiny()).replace("[2.0, -1.0, -1.0]", f"[{number}, -1.0, -1.0]", 1)

    assert "model.features.word.0.2.0: " in refused(tmp_path, text)


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_what_is_no_profile_is_refused(tmp_path, content):
    assert refused(tmp_path, content)


def test_many_problems_are_told_in_one_line(tmp_path):
    message = refused(tmp_path, "{}")

    assert "format: Field required; version: Field required; trained_on: Field required; and 2 more" in message
