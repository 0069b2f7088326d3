"""`fanfuse demo --data`: a small judged collection, an outage, its end; exit code 1 where a step does not hold."""

import json

import pytest

TOPICS = {
    "leave": ("Annual leave", "Employees of Acme Corp take twenty-five days of paid holiday each year."),
    "travel": ("Travel", "Acme Corp pays train tickets of Alice Smith when receipts are handed in."),
    "coffee": ("Coffee", "The espresso machine of Acme Corp is cleaned every Friday afternoon."),
    "parking": ("Parking", "The garage beside the office of Acme Corp opens at seven in the morning."),
}
QUERIES = {"q1": ("How many days of holiday do employees get?", "leave"), "q2": ("espresso machine", "coffee")}


@pytest.fixture
def collection(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    rows = [{"_id": key, "title": title, "text": text} for key, (title, text) in TOPICS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"_id": key, "text": text} for key, (text, _) in QUERIES.items()]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    judged = "".join(f"{key}\t{document}\t1\n" for key, (_, document) in QUERIES.items())
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


def test_every_step_holds_and_nothing_is_left(installation, collection):
    shown = installation.must("demo", "--data", str(collection))

    for part in (
        "nDCG@10 of the fused lists 1.0000",
        "kill -9 of the vector worker",
        "bm25_fallback: True",
        "complete",
    ):
        assert part in shown
    assert "every step was as it should be" in shown
    assert installation.left_behind() == []


def test_a_step_that_does_not_hold_is_exit_code_1_and_nothing_is_left(installation, collection):
    rows = [{"_id": key, "text": "some words in lower case", "entities": []} for key in TOPICS]
    (collection / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = installation.fanfuse("demo", "--data", str(collection))

    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("fanfuse: the demonstration failed: tiny mentions no entity")
    assert "Traceback" not in done.stderr
    assert installation.left_behind() == []


def test_a_folder_that_is_no_collection_is_one_plain_line(installation, tmp_path):
    done = installation.fanfuse("demo", "--data", str(tmp_path))

    assert done.returncode == 1
    assert "corpus.jsonl" in done.stderr
    assert installation.left_behind() == []
