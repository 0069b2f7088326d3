"""Run files of TREC: what is written keeps its order, what is read has that of trec_eval, faults are named."""

from pathlib import Path

import pytest

from fanfuse_evaluation.measures import MEASURES, measured
from fanfuse_evaluation.runs import judge_runs
from fanfuse_evaluation.trec import RunError, read_run, write_run


def test_what_is_written_is_read_in_the_same_order(tmp_path: Path):
    lists = [("q1", ["b", "a", "c"]), ("q2", ["z"])]

    write_run(tmp_path / "ours.trec", "ours", lists)

    assert (tmp_path / "ours.trec").read_text().splitlines()[0] == "q1 Q0 b 1 3 ours"
    assert {query: [one for one, _ in hits] for query, hits in read_run(tmp_path / "ours.trec").items()} == dict(lists)


def test_the_score_decides_and_of_equal_scores_the_larger_id(tmp_path: Path):
    (tmp_path / "theirs.trec").write_text("q Q0 a 1 0.5 x\nq\tQ0\tb\t2\t0.5\tx\n\nq Q0 c 3 9e-1 x\n")

    assert read_run(tmp_path / "theirs.trec") == {"q": [("c", 0.9), ("b", 0.5), ("a", 0.5)]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("", "holds no hit"),
        ("q Q0 a 1 0.5 x\nq Q0 b\n", r"run:2: not `query Q0 document rank score tag`: 3 columns"),
        ("q Q0 a 1 high x\n", r"run:1: 'high' is no score"),
        ("q Q0 a 1 inf x\n", r"run:1: 'inf' is no score"),
        ("q Q0 a 1 2 x\nq Q0 a 2 1 x\n", r"run:2: document 'a' stands a second time in the list of 'q'"),
        ("other Q0 a 1 2 x\n", "no query of it is judged, such as 'other'"),
    ],
)
def test_a_bad_run_is_named_with_its_line(tmp_path: Path, text: str | None, message: str):
    if text is not None:
        (tmp_path / "run").write_text(text)

    with pytest.raises(RunError, match=message):
        judge_runs([tmp_path / "run"], {"q": {"a": 1}}, "q")


def test_two_runs_of_one_name_are_refused(tmp_path: Path):
    with pytest.raises(RunError, match="two runs have this name"):
        judge_runs([tmp_path / "a/run", tmp_path / "b/run"], {"q": {"a": 1}}, "q")


def test_a_query_that_a_run_lacks_counts_as_zero_and_is_told(tmp_path: Path):
    (tmp_path / "run").write_text("q1 Q0 a 1 2 x\nextra Q0 a 1 2 x\n")

    figures = judge_runs([tmp_path / "run"], {"q1": {"a": 1}, "q2": {"b": 1}}, "q")

    assert list(figures.rows[0].values["nDCG@10"]) == [1.0, 0.0]
    assert figures.lost == {
        "a judged query without a list in run: counted as zero": 1,
        "a query of run that nobody judged: left out": 1,
    }


def test_measures_by_hand():
    grades = [{"a": 1, "b": 2}, {"z": 0}, {"y": 1}]

    values = measured(MEASURES, grades, [["c", "a"], ["z"], []])

    assert values["R@100"].tolist() == [0.5, 0.0, 0.0]
    assert values["MRR@10"].tolist() == [0.5, 0.0, 0.0]
    assert values["nDCG@10"].tolist() == pytest.approx([(1 / 1.584962500721156) / (2 + 1 / 1.584962500721156), 0, 0])
