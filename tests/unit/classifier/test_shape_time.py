"""No rule of the shape classifier costs more than linear time, whatever a text repeats (CLS-06)."""

import time

import pytest

from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_contracts.limits import MAX_TEXT_BYTES

REPEATED = [
    *(
        "word ",
        "x",
        "中",
        "\u0301\u0316",
        '"',
        "“a",
        "a'",
        "a-",
        "a.",
        "_a",
        "a/",
        "a@",
        "a::",
        "Aa ",
        "a1",
        "aaBb",
        "RFC ",
        "http://",
        "1.1",
        "I. ",
        " ",
    ),
    *("王", "王芳教授", "北京大学", "大学", "中·", "的", "是不是", "么", "第一", "〔2023〕5号"),
    *("さん", "山田さん", "ア・", "株式会社", "서울대학교와 ", "김철수씨 ", "الدكتور أحمد ", "جامعة ", "श्री "),
    *("《", "『a", "“", "„a", "`", "'a ", '5"', "«»"),
    *(
        "2001:",
        "a:",
        "ab:",
        "10.1000/",
        "§ 1 ",
        "Art. 1 ",
        "AB12 ABCD ",
        "AB 123",
        "aaBb 1 ",
        "AaError",
        "1.1.1.1:",
        "12-",
    ),
    *("SELECT ", "SELECT a FROM ", "--a ", "-a ", "f(x).", "f(", "x = 1\n", "def f(", "import a\n", "=>", "`a`"),
    *("2025-01-02T10:11 ", "ERROR: a\n", "  at x(\n", "at at ", "a b c [", "Error:", "x.", "Caused by:\n ", "\n "),
    *("Alice ", "Alice and ", "A. ", "Inc. ", "The ", "of ", "A-B", "and ", "How to ", "что такое ", "как "),
]


@pytest.mark.parametrize("piece", REPEATED, ids=ascii)
def test_time_is_linear_in_the_text(piece):
    """Eight times the text may cost about eight times as much, never the 64 of a quadratic rule."""
    size = 2 * MAX_TEXT_BYTES
    short, long = (piece * (length // len(piece)) for length in (size // 8, size))
    classify_shape(short)

    assert fastest(long) < 24 * fastest(short) + 0.01


def fastest(text):
    """CPU seconds of the fastest of three runs."""
    times = []
    for _ in range(3):
        began = time.process_time()
        classify_shape(text)
        times.append(time.process_time() - began)
    return min(times)
