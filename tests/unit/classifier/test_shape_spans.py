"""Identifiers and names stand in any text whole, in order, and never overlap (CLS-03, CLS-07)."""

import unicodedata
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fanfuse_classifier.domain.reading import read
from fanfuse_classifier.domain.shape import classify_shape

MARKED = "王芳教授|北京大学|和|的|·|先生|《三体》|作者刘慈欣|第563条|山田さん|株式会社|ア・|서울대학교와 |김철수 씨 |님"
SPACED = "الدكتور أحمد |وجامعة |श्री नरेंद्र |डॉ. |Alice |and |A. |Inc., |von |NASA |AB-12|HTTP 503 |§ 1 BGB |10.1000/x|::1"
SIGNS = '1.2.3.4:5|C:\\a|http://a|a@b.c|f(x)|SELECT * FROM t |ERROR: a\n| at x(|`a`|"|?|\n|, | '
MARKS = "e\u0301|\u1112\u1161\u11ab|\u0958|\u202e|\ud83d"
PIECES = st.sampled_from([piece for pieces in (MARKED, SPACED, SIGNS, MARKS) for piece in pieces.split("|")])
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join)


@given(TEXTS)
@settings(max_examples=300)
def test_spans_are_whole_and_apart(text: str) -> None:
    reading = read(text)

    assert [reading.text[found.start : found.end] for found in reading.identifiers] == [
        found.text for found in reading.identifiers
    ]
    for bounds in (
        [(found.start, found.end) for found in reading.identifiers],
        [(found.start, found.end) for found in reading.entities],
    ):
        assert all(before[1] <= after[0] for before, after in pairwise(bounds))
        assert all(start < end for start, end in bounds)


@given(TEXTS)
@settings(max_examples=300)
def test_both_forms_of_a_text_are_read_alike(text):
    assert classify_shape(unicodedata.normalize("NFC", text)) == classify_shape(unicodedata.normalize("NFD", text))
