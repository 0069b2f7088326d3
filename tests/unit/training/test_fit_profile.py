"""Fitting: from a file of labelled queries to a profile that routes what it has not seen."""

import json

import numpy as np
import pytest

from fanfuse_classifier.adapters.profiles import load_trained, read_profile
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_training.fit import fit_profile
from fanfuse_training.labelled import LabelledError, LabelledQuery, read_labelled
from fanfuse_training.measuring import measure
from fanfuse_training.splitting import hold_out
from tests.unit.training.topics import TOPICS, rows, write


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    return write(tmp_path_factory.mktemp("labelled") / "labelled.jsonl", rows())


@pytest.fixture(scope="module")
def told():
    """What the fit of `report` tells on its way."""
    return []


@pytest.fixture(scope="module")
def report(labelled, told):
    return fit_profile(labelled, progress=told.append)


def test_it_routes_held_out_queries(report):
    assert report.held_out.queries == 24
    assert report.held_out.accuracy_1 >= 0.95
    assert report.held_out.languages["zh"].accuracy_1 == 1.0
    assert report.cross_validated.queries == 96


def test_the_written_profile_answers_as_it_was_measured(report, labelled, tmp_path):
    report.write_profile(tmp_path / "profile.json")
    scorer = load_trained(tmp_path / "profile.json")
    _, judged = hold_out(read_labelled(labelled).queries, 0.2)

    log_p = np.array([scorer.log_probabilities(query.text) for query in judged])

    assert read_profile(tmp_path / "profile.json") == report.profile
    assert measure(log_p, judged, report.profile.model.corpora) == report.held_out
    assert [path.name for path in tmp_path.iterdir()] == ["profile.json"]


def test_its_scores_are_what_a_router_reads(report, tmp_path):
    report.write_profile(tmp_path / "profile.json")
    cards = [CorpusCard(tenant="t", corpus=corpus) for corpus in TOPICS]

    scores = load_trained(tmp_path / "profile.json").score("python string sort", (), cards)

    assert max(scores, key=lambda corpus: scores[corpus]) == "code"
    assert scores["code"] > 0.0


def test_the_same_file_gives_the_same_bytes(report, labelled):
    assert fit_profile(labelled).profile.to_lines() == report.profile.to_lines()


def test_a_test_file_is_measured_and_never_learned_from(labelled, tmp_path):
    test = write(tmp_path / "test.jsonl", [{"text": "zyzzyva python loop", "corpus": "code"}] * 3)

    report = fit_profile(labelled, test=test)

    assert report.held_out.queries == 3
    assert report.profile.trained_on.queries == 120
    assert report.profile.report.held_out_sha256 == read_labelled(test).sha256
    assert not any("zyz" in row.name for features in report.profile.model.features.values() for row in features)


def test_two_corpora_are_enough(tmp_path):
    report = fit_profile(write(tmp_path / "two.jsonl", rows(corpora=("aero", "food"))))

    assert report.held_out.accuracy_1 == 1.0
    assert report.profile.model.corpora == ("aero", "food")


def test_five_queries_a_corpus_are_enough(tmp_path):
    report = fit_profile(write(tmp_path / "few.jsonl", rows(per_corpus=5)))

    assert report.held_out.queries == 4
    assert report.cross_validated.queries == 16


def test_the_tenant_is_kept(tmp_path):
    few = write(tmp_path / "few.jsonl", rows(per_corpus=5))

    assert fit_profile(few, tenant="acme").profile.tenant == "acme"


def test_too_few_queries_are_refused(tmp_path):
    with pytest.raises(LabelledError, match="needs 5 queries"):
        fit_profile(write(tmp_path / "few.jsonl", rows(per_corpus=4)))


def test_a_test_file_with_an_unknown_corpus_is_refused(labelled, tmp_path):
    with pytest.raises(LabelledError, match="corpus 'mail' has no query"):
        fit_profile(labelled, test=write(tmp_path / "test.jsonl", [{"text": "a letter", "corpus": "mail"}]))


@pytest.mark.parametrize("share", [0.0, 0.6, -1.0])
def test_a_share_that_can_not_be_held_out_is_refused(labelled, share):
    with pytest.raises(ValueError, match="held_out"):
        fit_profile(labelled, held_out=share)


def test_holding_out_takes_a_share_of_every_corpus_and_loses_nothing():
    queries = [LabelledQuery(str(number), "big" if number % 10 else "small") for number in range(100)]

    fitted, judged = hold_out(queries, 0.2)

    assert [query.corpus for query in judged].count("big") == 18
    assert [query.corpus for query in judged].count("small") == 2
    assert sorted((*fitted, *judged), key=lambda query: int(query.text)) == queries
    assert hold_out(queries, 0.2) == (fitted, judged)


def test_progress_and_report_are_told(report, told):
    assert told[0] == "4 corpora: 96 queries to fit on, 24 to measure on"
    assert told[-1] == f"chosen: {report.settings}"
    assert report.lines()[0].startswith("fitted on 96 queries of 4 corpora: ")
    assert any("held out (24 queries): acc@1 " in line for line in report.lines())
    shown = json.loads(report.to_json())
    assert shown["report"]["held_out"]["accuracy_1"] == report.held_out.accuracy_1
    assert "features" not in shown["model"]
