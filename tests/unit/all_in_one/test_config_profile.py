"""A trained profile that a configuration names: it is read, it must be about the corpora, and it changes decisions."""

import json
from pathlib import Path
from typing import Any

import pytest

from fanfuse_all_in_one.configuration import check_all
from fanfuse_all_in_one.offline import OfflineRouter
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.configfile import read_config
from fanfuse_runtime.configuration.findings import Level, show

FIGURES = {"queries": 1, "accuracy_1": 1.0, "accuracy_3": 1.0, "calibration_error": 0.0, "log_loss": 0.0}
PROFILE: dict[str, Any] = {
    "format": "fanfuse-routing-profile",
    "version": 1,
    "trained_on": {"sha256": "0" * 64, "queries": 2, "per_corpus": {"a": 1, "b": 1}, "penalty": 1.0},
    "report": {"held_out": FIGURES, "held_out_sha256": "0" * 64, "cross_validated": FIGURES},
    "model": {
        "corpora": ["a", "b"],
        "queries": 2,
        "lengths": {"word": 1.0},
        "bias": [0.0, 0.0],
        "temperature": 1.0,
        "floor": 0.5,
        "features": {"word": [["moon", 1, [3.0, -3.0]]]},
    },
}


@pytest.fixture
def read(tmp_path: Path):
    """A configuration with a profile, and with these routing options and corpora."""

    def read(profile: object = PROFILE, routing: str = "", corpora: str = "ab", tenant: str = "t"):
        if profile is not None:
            (tmp_path / "p.json").write_text(profile if isinstance(profile, str) else json.dumps(profile))
        rows = ", ".join(f"{{id: {name}, tenant_id: {tenant}, card: {{public: true}}}}" for name in corpora)
        text = f"retrieval:\n  routing:\n    profile: p.json\n    {routing}\ncorpora: [{rows}]\n"
        (tmp_path / "fanfuse.yaml").write_text(text)
        return read_config(tmp_path / "fanfuse.yaml", {})

    return read


def found(loaded):
    return [(finding.level, show(finding.path)) for finding in check_all(loaded, {})]


def test_a_profile_changes_the_decision(read):
    """CFG-04: with a profile, the words it was trained on select its corpus."""

    def selected(text: str, config: FanfuseConfig):
        reply = OfflineRouter(config).decide("t", SubmittedQuery(text=text), now_s=0.0)
        assert reply.plan is not None
        return reply.plan.corpus_decision.selected_corpora

    loaded = read()
    assert found(loaded) == []
    without = FanfuseConfig.model_validate({"corpora": [corpus.model_dump() for corpus in loaded.config.corpora]})
    assert selected("the moon", loaded.config) == ("a",)
    assert set(selected("the moon", without)) == {"a", "b"}


@pytest.mark.parametrize(
    "profile",
    [None, "", "{}", "[1", {**PROFILE, "version": 2}, {**PROFILE, "model": {}}, {**PROFILE, "pickle": "x"}],
)
def test_a_profile_that_cannot_be_used_is_an_error(read, profile):
    [finding] = check_all(read(profile), {})

    assert (finding.level, show(finding.path)) == (Level.ERROR, "retrieval.routing.profile")
    assert finding.where.endswith("fanfuse.yaml:3")
    assert "p.json: " in finding.message
    assert "fanfuse routing fit" in finding.message


@pytest.mark.parametrize(
    ("corpora", "tenant", "levels"),
    [
        ("ab", "t", []),
        ("abc", "t", []),
        ("ac", "t", [Level.WARNING]),
        ("cd", "t", [Level.ERROR]),
        ("ab", "u", [Level.ERROR]),
        ("", "t", [Level.WARNING]),
    ],
)
def test_a_profile_about_other_corpora(read, corpora, tenant, levels):
    loaded = read({**PROFILE, "tenant": "t"}, corpora=corpora, tenant=tenant)

    assert found(loaded) == [(level, "retrieval.routing.profile") for level in levels]


def test_a_temperature_distorts_calibrated_probabilities(read):
    assert found(read(routing="learned_temperature: 2.0")) == [(Level.WARNING, "retrieval.routing.learned_temperature")]


def test_two_scorers_are_refused_as_the_classifier_does(read, monkeypatch):
    monkeypatch.setenv("FANFUSE_CLASSIFIER_CORPUS_CLASSIFIER", "mine")
    [finding] = check_all(read(), {})

    assert finding.level is Level.ERROR
    assert "only one can score the corpora" in finding.message
