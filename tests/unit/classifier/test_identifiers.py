"""Identifiers are found whole: none is cut, quotes and brackets are no part of one (CLS-03)."""

import pytest

from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_contracts.enums import Shape


def identifiers(text):
    return classify_shape(text).identifiers


@pytest.mark.parametrize(
    "identifier",
    [
        "TRAVEL-2026-01",
        "travel-2026-01",
        "CVE-2026-1234",
        "123e4567-e89b-12d3-a456-426614174000",
        "123E4567-E89B-12D3-A456-426614174000",
        "RFC 9110",
        "rfc 9110",
        "RFC-9110-bis",
        "PEP 484",
        "ISO/IEC 27001",
        "3.11.4",
        "v2.0",
        "2.0.0-rc1",
        "10.0.0.1",
        "0x80070005",
        "9fceb02d",
        "ORA00942",
        "CX3CR1",
        "covid-19",
        "#1234",
        "978-0-13-468599-1",
        "pathlib.Path",
        "os.path.join",
        "std::vector",
        "read_text",
        "__init__",
        "getElementById",
        "src/foo/bar.py",
        "/usr/bin/python3",
        "report-2024.pdf",
        "example.com",
        "me@example.com",
        "https://example.com/a?b=1",
        "ГОСТ-12345",
        "Bürgeramt-2024",
        "§ 823 BGB",
        "§ 15 Abs. 1 KSchG",
        "Art. 6 DSGVO",
        "section 4.2.1",
        "42 U.S.C. § 1983",
        "45 CFR 164.312",
        "(EU) 2016/679",
        "95/46/EC",
        "GB/T 19001-2016",
        "HTTP 503",
        "iPhone 15",
        "10.1038/s41586-020-2649-2",
        "arXiv:2101.00001",
        "DE89 3704 0044 0532 0130 00",
        "2001:db8::ff00:42:8329",
        "00:1B:44:11:3A:B7",
        "127.0.0.1:5432",
        "10.0.0.0/8",
        "2025-01-02T10:11:12Z",
        r"C:\Users\me\notes.txt",
        "s3://bucket/key.parquet",
        "www.example.com/a",
        "AB-123-XYZ",
        "NullPointerException",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "“{}”", '"{}"', "({}).", "see {}, please", "关于{}的问题", "{}에서"])
def test_found_whole_in_any_frame(identifier, frame):
    assert identifiers(frame.format(identifier)) == (identifier,)


@pytest.mark.parametrize(
    "text",
    [
        "well-known two-dimensional flow",
        "a 10-year bond and a 3-dimensional problem",
        "mid-1990s music",
        "e.g. this, i.e. that",
        "U.S. citizens at 9 a.m.",
        "and/or TCP/IP",
        "Ph.D. thesis",
        "an increase of 3.5 percent",
        "earnings 2024",
        "iPhone and YouTube",
        "Dr.Smith",
        "401k",
        "GDP 2024 and USD 500",
        "state of the art 2023",
        "FY 2023-24",
        "employee(s) of the firm",
    ],
)
def test_plain_words_and_quantities_are_none(text):
    assert identifiers(text) == ()


def test_a_version_is_told_from_a_quantity_by_the_name_before_it():
    assert identifiers("What is new in Python 3.11?") == ("3.11",)
    assert identifiers("Inflation 3.5 % this year") == ()


@pytest.mark.parametrize("identifier", ["第563条", "第五百六十三条第一款", "国发〔2023〕5号", "(2023)京01民初123号"])
def test_references_of_chinese_law_are_found_whole(identifier):
    assert identifiers(f"按照 {identifier}的规定") == (identifier,)
    assert classify_shape(f"{identifier}适用于租赁合同吗").shape is Shape.MIXED


def test_no_break_hyphens_and_full_width_letters_are_the_same_identifier():
    assert identifiers("TRAVEL‑2026‑01") == identifiers("ＴＲＡＶＥＬ－２０２６－０１") == ("TRAVEL-2026-01",)


def test_order_of_place_without_repeats():
    assert identifiers("AB-2, AB-1, AB-2") == ("AB-2", "AB-1")


@pytest.mark.parametrize("quoted", ["TRAVEL-2026-01", '"TRAVEL-2026-01"', "“TRAVEL-2026-01”", "‘TRAVEL-2026-01’"])
def test_bare_identifier_is_keyword_heavy_and_no_name(quoted):
    """CLS-03: a bare id is for the keyword side, quotes stripped."""
    found = classify_shape(quoted)

    assert found.shape is Shape.KEYWORD_HEAVY
    assert found.identifiers == ("TRAVEL-2026-01",)
    assert found.entities == ()


def test_identifier_in_a_chinese_question_keeps_the_vector_side():
    """CLS-03: the id stays whole, the shape is not keyword-heavy, the language is the prose's."""
    found = classify_shape("TRAVEL-2026-01 中取消行程的退票费如何处理")

    assert found.shape is Shape.MIXED
    assert found.identifiers == ("TRAVEL-2026-01",)
    assert found.language == "zh"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("How do I use pathlib.Path?", True),
        ("python check type if string", True),
        ("what does read_text() do", True),
        ("std::vector capacity", True),
        ("c++ templates", True),
        ("vitamin c", False),
        ("world class function of a method", False),
        ("see example.com for the report.pdf", False),
        ("SELECT name FROM users", True),
        ("kubectl get pods -n kube-system", True),
        ("git rebase --onto", True),
        ("for i in range(10): print(i)", True),
        ("select a bank from the list", False),
        ("call (555) 123 or write", False),
    ],
)
def test_code_intent(text, code):
    assert classify_shape(text).code_intent is code
