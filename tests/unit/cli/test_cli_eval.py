"""`fanfuse eval` on files: saved lists fused offline, runs of others, and what too little gives."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fanfuse_cli import evaluating
from fanfuse_cli.main import app
from fanfuse_contracts.enums import Status
from fanfuse_evaluation.lane_lists import load, save
from tests.unit.evaluation.records import asked

RUN = CliRunner()


def invoke(*arguments: object):
    return RUN.invoke(app, ["eval", *map(str, arguments)], env={"NATS_URL": "", "COLUMNS": "200"})


@pytest.fixture
def lanes(tmp_path: Path) -> Path:
    save(tmp_path / "lanes.jsonl", [asked(f"q{number}") for number in range(4)])
    return tmp_path / "lanes.jsonl"


def test_saved_lists_are_fused_by_every_policy_that_is_asked_for(lanes: Path):
    done = invoke("--offline", lanes, "--policy", "rrf", "--policy", "minmax", "--k", 20, "--seats", 2)

    assert done.exit_code == 0, done.output
    names = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("|")][2:]
    assert names == [
        "keyword/main",
        "vector/main",
        "answer (rrf, k 60, 0 seats)",
        "rrf, k 20, 2 seats",
        "minmax, 2 seats",
    ]
    assert "4 complete; fused again offline: 0 differences of order and 0 of score in 16 places" in done.stdout


def test_without_a_policy_the_answers_are_beside_all_of_them(lanes: Path):
    done = invoke("--offline", lanes)

    assert all(f"| {name}, 1 seat |" in done.stdout for name in ("rrf, k 60", "rrf_rank, k 60", "minmax"))


def test_reports_runs_and_lists_are_written(lanes: Path, tmp_path: Path):
    done = invoke(
        "--offline", lanes, "--report", tmp_path / "report", "--save-runs", tmp_path / "runs", "--save-lanes",
        tmp_path / "copy.jsonl", "--policy", "rrf",
    )  # fmt: skip

    assert done.exit_code == 0, done.output
    written = (tmp_path / "report/report.md").read_text()
    picture = "![nDCG@10: tiny: 4 queries](plot-0.svg)"
    assert written.replace(f"\n{picture}\n", "") == done.stdout.removesuffix("\n")
    assert (tmp_path / "report/plot-0.svg").read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert (tmp_path / "report/report.html").read_text().startswith("<!doctype html>")
    names = ("answer-rrf-k-60-0-seats", "keyword-main", "rrf-k-60-1-seat", "vector-main")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [f"tiny.{name}.trec" for name in names]
    assert load(tmp_path / "copy.jsonl") == load(lanes)


def test_runs_that_were_written_are_judged_as_the_lists_were(lanes: Path, tmp_path: Path):
    ours = invoke("--offline", lanes, "--save-runs", tmp_path / "runs", "--policy", "rrf").stdout
    (tmp_path / "q.tsv").write_text("".join(f"q{n} 0 b 1\nq{n} 0 d 2\n" for n in range(4)))
    runs = sorted((tmp_path / "runs").iterdir())

    done = invoke("--runs", *runs, "--qrels", tmp_path / "q.tsv")

    assert done.exit_code == 0, done.output
    shown = [line for line in done.stdout.splitlines() if ".trec |" in line and "less" not in line]
    assert len(shown) == 4
    keyword = next(line for line in shown if "keyword" in line)
    assert f"| keyword/main |{'|'.join(keyword.split('|')[2:5])}|" in ours
    assert "nDCG@10 less tiny.answer-rrf-k-60-0-seats.trec" in done.stdout


def test_an_answer_that_differs_from_its_lists_ends_in_exit_code_1(tmp_path: Path):
    right = asked()
    save(tmp_path / "lanes.jsonl", [asked(answer=right.answer[::-1])])

    done = invoke("--offline", tmp_path / "lanes.jsonl")

    assert done.exit_code == 1
    assert "4 differences of order" in done.stdout
    assert "an answer differs from the same lists fused offline" in done.stderr


def test_what_was_not_answered_whole_stands_in_the_report(tmp_path: Path):
    save(tmp_path / "lanes.jsonl", [asked(status=Status.PARTIAL, lost=("tiny graph/main: failed, refused",))])

    done = invoke("--offline", tmp_path / "lanes.jsonl")

    assert "- tiny: 1 partial;" in done.stdout
    assert "- tiny: 1 × tiny graph/main: failed, refused" in done.stdout


def test_a_collection_without_any_answer_ends_in_exit_code_1(tmp_path: Path):
    refused = asked(status=Status.FAILED, lists=(), answer=(), fusion=None, lost=("unavailable: no lane answered",))
    save(tmp_path / "lanes.jsonl", [refused])

    done = invoke("--offline", tmp_path / "lanes.jsonl", "--report", tmp_path / "report")

    assert done.exit_code == 1
    assert "no query of tiny was answered with hits: the report says why" in done.stderr
    assert "1 × unavailable: no lane answered" in (tmp_path / "report/report.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give folders of collections, or --runs with --qrels, or --offline"),
        (("folder", "--offline", "x"), "give folders of collections"),
        (("--runs", "x"), "--runs and --qrels need each other"),
        (("folder", "--qrels", "x"), "--runs and --qrels need each other"),
        (("--offline", "nowhere.jsonl"), "nowhere.jsonl: No such file"),
        (("nowhere",), "corpus.jsonl: there is no such file"),
        (("--runs", "nowhere", "--qrels", "nowhere.tsv"), "nowhere.tsv: No such file"),
        (("--offline", "x", "--policy", "minmax", "--seats", "9"), "reserved_seats"),
    ],
)
def test_what_is_missing_is_one_plain_line(arguments: tuple[str, ...], message: str, lanes: Path):
    stated = [str(lanes) if argument == "x" and "--seats" in arguments else argument for argument in arguments]

    done = invoke(*stated)

    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_without_the_extra_a_person_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evaluating, "find_spec", lambda _: None)

    done = invoke("folder")

    assert done.exit_code == 2
    assert "pip install 'fanfuse-cli[eval]'" in done.stderr
