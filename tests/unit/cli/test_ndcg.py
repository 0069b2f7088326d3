"""nDCG as trec_eval has it, against ir-measures."""

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import nDCG

from fanfuse_cli.demo.ndcg import ndcg


def test_one_relevant_document_at_rank_two():
    assert ndcg(["a", "b"], {"b": 1}) == pytest.approx(1 / math.log2(3))


def test_nothing_relevant_is_zero():
    assert ndcg(["a"], {}) == 0.0
    assert ndcg([], {"a": 1}) == 0.0


DOCUMENTS = [f"d{n}" for n in range(15)]


@given(
    st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1),
)
def test_equals_ir_measures(ranked, grades):
    qrels = [ir_measures.Qrel("q", document, grade) for document, grade in grades.items()]
    run = [ir_measures.ScoredDoc("q", document, float(-place)) for place, document in enumerate(ranked)]

    assert ndcg(ranked, grades) == pytest.approx(ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10])
