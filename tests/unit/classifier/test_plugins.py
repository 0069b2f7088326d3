"""Classifiers are found by entry point, and a wrong name or rule stops the start with a message that says so."""

import pytest

from fanfuse_classifier.adapters.plugins import CORPUS_GROUP, SHAPE_GROUP
from fanfuse_classifier.domain.scoring import TermWeights
from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_classifier.service import build_classifiers
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Shape
from fanfuse_runtime.configfile import ConfigError

SOMEONE_ELSES = """
from fanfuse_contracts.classification import QueryShape

def always_mixed(text, expansion_terms=(), hyde_vector=None):
    return QueryShape(shape="mixed", reason="always")

class Nothing:
    def score(self, text, expansion_terms, cards):
        return {}
"""


def settings(**fields):
    return ClassifierSettings(**fields)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that offers a shape and a corpus classifier."""
    (tmp_path / "someone_elses.py").write_text(SOMEONE_ELSES)
    metadata = tmp_path / "someone_elses-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: someone-elses\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[{SHAPE_GROUP}]\nmixed = someone_elses:always_mixed\n[{CORPUS_GROUP}]\nnothing = someone_elses:Nothing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_the_built_in_ones_are_entry_points_and_the_default():
    classifiers = build_classifiers(FanfuseConfig(), settings())

    assert classifiers.shape is classify_shape
    assert isinstance(classifiers.corpora, TermWeights)


@pytest.mark.usefixtures("package")
def test_another_packages_classifiers_are_chosen_by_name():
    classifiers = build_classifiers(FanfuseConfig(), settings(shape_classifier="mixed", corpus_classifier="nothing"))

    assert classifiers.shape("What is RAG?") == QueryShape(shape=Shape.MIXED, reason="always")
    assert classifiers.corpora.score("x", (), ()) == {}


@pytest.mark.usefixtures("package")
def test_the_environment_chooses_and_a_blank_variable_does_not(monkeypatch):
    monkeypatch.setenv("FANFUSE_CLASSIFIER_SHAPE_CLASSIFIER", "mixed")
    monkeypatch.setenv("FANFUSE_CLASSIFIER_CORPUS_CLASSIFIER", "")

    assert (settings().shape_classifier, settings().corpus_classifier) == ("mixed", None)


def test_an_unknown_name_stops_the_start_and_names_what_is_installed():
    with pytest.raises(ConfigError, match=r"'magic' is not installed in 'fanfuse.shape_classifiers'.*rules"):
        build_classifiers(FanfuseConfig(), settings(shape_classifier="magic"))


def test_a_faulty_rule_stops_the_start_and_is_named():
    """CLS-06: a syntactically bad expression is refused at start-up with the rule's name."""
    config = FanfuseConfig.model_validate(
        {"retrieval": {"routing": {"rules": [{"name": "billing", "corpora": ["c"], "match_regex": "(["}]}}}
    )

    with pytest.raises(ConfigError, match=r"routing rule 'billing': match_regex '\(\[' is not valid RE2: missing \]"):
        build_classifiers(config, settings())


def profiled(path):
    return FanfuseConfig.model_validate({"retrieval": {"routing": {"profile": str(path)}}})


class ScoresThePath:
    def __init__(self, path):
        self.path = path

    def score(self, text, expansion_terms, cards):
        return {str(self.path): 1.0}


def test_a_profile_scores_instead_of_term_weights(tmp_path, monkeypatch):
    monkeypatch.setattr("fanfuse_classifier.service.load_trained", ScoresThePath)
    scorer = build_classifiers(profiled(tmp_path / "profile.json"), settings()).corpora

    assert scorer.score("x", (), ()) == {str(tmp_path / "profile.json"): 1.0}


@pytest.mark.parametrize("content", [None, b"{", b"{}", b"\xff", b'{"format": "pickle"}'])
def test_a_profile_that_can_not_be_used_stops_the_start_and_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "profile.json").write_bytes(content)

    with pytest.raises(ConfigError, match=rf"{tmp_path}/profile\.json: .*fanfuse routing fit"):
        build_classifiers(profiled(tmp_path / "profile.json"), settings())


def test_a_profile_and_a_plugin_exclude_each_other():
    with pytest.raises(ConfigError, match=r"profile names .*profile\.json and FANFUSE_CLASSIFIER_CORPUS_CLASSIFIER"):
        build_classifiers(profiled("profile.json"), settings(corpus_classifier="term_weights"))


def test_a_faulty_scope_stops_the_start_and_is_named():
    config = FanfuseConfig.model_validate(
        {"retrieval": {"routing": {"scopes": [{"name": "hr", "kind": "domain", "aliases": ["!"]}]}}}
    )

    with pytest.raises(ConfigError, match="scope 'hr': alias '!' holds no letter or digit"):
        build_classifiers(config, settings())
