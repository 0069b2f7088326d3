"""Folders and vectors that are to be asked: what fits together, what is refused, which query vectors are sent."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_evaluation.collections import read_sources
from fanfuse_indexing import VectorsError

TEXTS = {"q1": "Which keel has the airship?", "q2": "飞艇的龙骨是什么", "q3": "How fast is a balloon?"}


def collection(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "one"}\n')
    lines = "".join(f'{{"_id": "{key}", "text": "{text}"}}\n' for key, text in TEXTS.items())
    (folder / "queries.jsonl").write_text(lines, encoding="utf-8")
    (folder / "qrels.tsv").write_text("".join(f"{key}\td1\t1\n" for key in TEXTS))
    return folder


def vectors(path: Path, **more: Any) -> Path:
    stored: dict[str, Any] = {"doc_ids": ["d1"], "doc_vectors": np.ones((1, 4)), "query_ids": ["q1", "q2"]}
    np.savez(path, **(stored | {"query_vectors": np.ones((2, 4), dtype=np.int8), "query_scales": [0.5, 0.5]} | more))
    return path


def test_query_vectors_are_sent_where_the_model_knows_the_language(tmp_path: Path):
    (source,) = read_sources([collection(tmp_path / "ships")], vectors(tmp_path / "v.npz"))

    asked = source.questions()

    assert asked.vectors == {"q1": (0.5, 0.5, 0.5, 0.5)}
    assert (asked.collection, asked.texts, asked.documents) == ("ships", TEXTS, frozenset({"d1"}))


def test_a_folder_of_vectors_has_one_file_per_collection(tmp_path: Path):
    vectors(tmp_path / "ships.npz")
    folders = [collection(tmp_path / "ships"), collection(tmp_path / "balloons")]

    ships, balloons = read_sources(folders, tmp_path)

    assert (ships.vectors, balloons.vectors) == (tmp_path / "ships.npz", None)
    assert balloons.questions().vectors == {}


def test_a_file_may_hold_vectors_of_documents_only(tmp_path: Path):
    np.savez(tmp_path / "v.npz", doc_ids=["d1"], doc_vectors=np.ones((1, 4)))
    (source,) = read_sources([collection(tmp_path / "ships")], tmp_path / "v.npz")

    assert source.questions().vectors == {}


def test_what_does_not_fit_together_is_refused(tmp_path: Path):
    first, second = collection(tmp_path / "a/ships"), collection(tmp_path / "b/ships")

    with pytest.raises(OperatorError, match="two folders are called ships"):
        read_sources([first, second], None)
    with pytest.raises(OperatorError, match=r"is one file for 2 collections"):
        read_sources([first, second], vectors(tmp_path / "v.npz"))
    (source,) = read_sources([first], vectors(tmp_path / "v.npz", query_scales=[1.0]))
    with pytest.raises(VectorsError, match=r"query_scales of shape \(1,\) do not fit 2 query_ids"):
        source.questions()
