"""Vectors made elsewhere reach the chunk of their document; a file that does not fit is refused as a whole."""

import json
from pathlib import Path

import numpy as np
import pytest

from fanfuse_indexing import Code, Loading, VectorsError
from fanfuse_indexing.vectors import read_vectors


def write_corpus(folder: Path, *records: dict) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


def test_int8_vectors_are_scaled_and_own_vectors_come_first(tmp_path: Path):
    vectors = np.array([[1, -2], [3, 4], [5, 6]], dtype=np.int8)
    np.savez(tmp_path / "v.npz", doc_ids=["a", "b", "z"], doc_vectors=vectors, doc_scales=np.array([0.5, 2, 1]))
    corpus = write_corpus(
        tmp_path, {"_id": "a", "text": "x"}, {"_id": "b", "text": "x", "vector": [9, 9]}, {"_id": "c", "text": "x"}
    )
    loading = Loading(corpus, vectors=tmp_path / "v.npz")

    assert [chunk.vector for chunk in loading] == [(0.5, -1.0), (9.0, 9.0), None]
    assert [(notice.line, notice.code) for notice in loading.report.notices] == [
        (3, Code.NO_VECTOR),
        (None, Code.UNUSED_VECTORS),
    ]


def test_vectors_of_another_size_or_without_direction_are_left_out(tmp_path: Path):
    vectors = [[1, 0], [1, 0, 0], [0, 0], [1.7e308, 1.7e308]]
    corpus = write_corpus(tmp_path, *({"_id": str(n), "text": "x", "vector": v} for n, v in enumerate(vectors)))
    loading = Loading(corpus)

    assert [chunk.vector for chunk in loading] == [(1.0, 0.0), None, None, None]
    assert [notice.code for notice in loading.report.notices] == [Code.BAD_VECTOR] * 3


def test_a_split_record_keeps_its_vector_on_the_first_part(tmp_path: Path):
    loading = Loading(write_corpus(tmp_path, {"_id": "a", "text": "x " * 10_001, "vector": [1.0]}))
    vectors = [chunk.vector for chunk in loading]

    assert vectors[0] == (1.0,)
    assert set(vectors[1:]) == {None}


@pytest.mark.parametrize(
    "stored",
    [
        {"doc_ids": ["a"]},
        {"doc_ids": ["a"], "doc_vectors": np.zeros((2, 3))},
        {"doc_ids": ["a"], "doc_vectors": np.zeros(3)},
        {"doc_ids": ["a"], "doc_vectors": np.array([["x"]])},
        {"doc_ids": ["a", "a"], "doc_vectors": np.ones((2, 3))},
        {"doc_ids": ["a"], "doc_vectors": np.ones((1, 3)), "doc_scales": np.ones(2)},
        {"doc_ids": np.array([{"pickled": 1}], dtype=object), "doc_vectors": np.ones((1, 3))},
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_name(tmp_path: Path, stored: dict):
    np.savez(tmp_path / "v.npz", **stored)

    with pytest.raises(VectorsError, match=r"v\.npz"):
        read_vectors(tmp_path / "v.npz")


def test_no_file_or_no_npz_is_refused(tmp_path: Path):
    (tmp_path / "v.npz").write_bytes(b"not a zip")
    for name in ("v.npz", "missing.npz"):
        with pytest.raises(VectorsError, match=name):
            read_vectors(tmp_path / name)


def test_real_vectors_are_of_unit_length(shared: Path):
    vectors = read_vectors(shared / "data/vectors/adi.npz")
    first = vectors.get("1")

    assert first
    assert len(first) == 384
    assert np.linalg.norm(first) == pytest.approx(1.0, abs=0.01)
