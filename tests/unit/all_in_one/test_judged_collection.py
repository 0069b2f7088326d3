"""A collection in BEIR form gives its queries and judgements, or an error that names the file and line."""

import tarfile
from pathlib import Path

import pytest

from fanfuse_all_in_one.demo_corpora import beir_corpus
from fanfuse_all_in_one.judged_collection import (
    CollectionError,
    corpus_token,
    document_ids,
    read_collection,
    read_judgements,
)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_jsonl", ".jsonl").replace("_tsv", ".tsv")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


GOOD = {
    "corpus_jsonl": '{"_id": "d1", "text": "one"}\n',
    "queries_jsonl": '{"_id": "q1", "text": "first"}\n\n{"_id": "q2", "text": "not judged"}\n',
    "qrels_tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\n",
}


def test_only_judged_queries_are_asked(tmp_path: Path):
    collection = read_collection(write(tmp_path, **GOOD))

    assert collection.queries == {"q1": "first"}
    assert collection.judgements == {"q1": {"d1": 2}}
    assert [chunk.chunk_id for chunk in beir_corpus(collection).chunks] == ["d1"]


def test_the_test_part_of_a_folder_of_judgements_is_taken(tmp_path: Path):
    parts = {"qrels__train_tsv": "q2\td1\t1\n", "qrels__test_tsv": "q1\t0\td1\t1\n"}
    files = {**GOOD, **parts}
    del files["qrels_tsv"]

    assert read_collection(write(tmp_path, **files)).judgements == {"q1": {"d1": 1}}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corpus_jsonl": None}, r"corpus\.jsonl: there is no such file"),
        ({"queries_jsonl": None}, r"queries\.jsonl: No such file"),
        ({"qrels_tsv": None}, "neither qrels"),
        ({"qrels_tsv": "q1\td1\t1\nq1\td1\n"}, r"qrels\.tsv:2: not query, document and grade"),
        ({"queries_jsonl": '{"_id": "q1", "text": "x"}\n{"_id": "q2"}'}, r"queries\.jsonl:2: not a query"),
        ({"queries_jsonl": "[1]"}, r"queries\.jsonl:1: not a query"),
        ({"qrels_tsv": "query-id\tcorpus-id\tscore\n"}, "no query has a judgement"),
        ({"qrels_tsv": "other\td1\t1\n"}, r"qrels\.tsv: judges query 'other', which queries\.jsonl does not have"),
        ({"qrels_tsv": "q1\td1\t1\nq1\td1\t0\n"}, r"qrels\.tsv:2: judges document 'd1' for query 'q1' a second time"),
        (
            {"queries_jsonl": '{"_id": 1, "text": "x"}\n' * 2},
            r"queries\.jsonl:2: the id '1' stands there a second time",
        ),
    ],
)
def test_errors_name_the_file_and_what_is_wrong(tmp_path: Path, changed: dict, message: str):
    files = {name: text for name, text in {**GOOD, **changed}.items() if text is not None}

    with pytest.raises(CollectionError, match=message):
        read_collection(write(tmp_path, **files))


def test_judgements_of_trec_have_four_columns_and_spaces(tmp_path: Path):
    (tmp_path / "q.txt").write_text("q1 0 d1 2\nq1 0 d2 0\n\nq2 0 d1 1\n")

    assert read_judgements(tmp_path / "q.txt") == {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ('{"_id": "d2", "text": "x"}', "has no document 'd1', which is judged for query 'q1'"),
        ('{"_id": "d1", "text": "x"}\n' * 2, r"corpus\.jsonl:2: the id 'd1' stands there a second time"),
        ('{"text": "x"}', r"corpus\.jsonl:1: not a document with '_id'"),
    ],
)
def test_documents_fit_the_judgements(tmp_path: Path, documents: str, message: str):
    collection = read_collection(write(tmp_path, **{**GOOD, "corpus_jsonl": documents}))

    with pytest.raises(CollectionError, match=message):
        document_ids(collection)


def test_folder_names_become_corpus_names():
    assert (corpus_token("Sci Fact (v2)"), corpus_token("检索")) == ("sci-fact-v2", "collection")


def test_a_real_collection(shared: Path, tmp_path: Path):
    with tarfile.open(shared / "data/adi.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    collection = read_collection(tmp_path / "adi")
    chunks = list(beir_corpus(collection, shared / "data/vectors/adi.npz").chunks)

    assert (collection.name, len(collection.queries), len(chunks)) == ("adi", 35, 82)
    assert {document for grades in collection.judgements.values() for document in grades} <= {
        c.chunk_id for c in chunks
    }
    assert all(chunk.vector and len(chunk.vector) == 384 for chunk in chunks)
