"""A JSONL line becomes a document, or an error that says what is wrong; what is not kept of it is named."""

import json

import pytest

from fanfuse_contracts.chunks import Triple
from fanfuse_indexing.records import RecordError, parse_record
from fanfuse_indexing.report import Code


def parse(record: object) -> tuple:
    notes: list[tuple[Code, str]] = []
    line = record if isinstance(record, str) else json.dumps(record)
    document = parse_record(line, "c.jsonl", 7, lambda code, reason: notes.append((code, reason)))
    return document, notes


def test_every_part_of_a_record_has_its_place():
    document, notes = parse(
        {
            "_id": 12,
            "title": "T",
            "text": "body",
            "year": 2024,
            "score": 0.5,
            "open": True,
            "tags": ["a", "b"],
            "none": None,
            "metadata": {"lang": "de"},
            "entities": ["Acme Corp", "Acme Corp", " "],
            "triples": [["Acme Corp", "based in", "Berlin"], ["Film", "directed_by", "Someone"]],
            "vector": [1, 0.5],
        }
    )

    assert (document.document_id, document.title, document.text, document.line) == ("12", "T", "body", 7)
    assert document.metadata == {"lang": "de", "year": 2024, "score": 0.5, "open": True, "tags": ("a", "b")}
    assert document.entities == ("Acme Corp",)
    assert document.triples[0] == Triple(subject="Acme Corp", relation="BASED_IN", object="Berlin")
    assert document.triples[1].relation == "DIRECTED_BY"
    assert document.vector == (1.0, 0.5)
    assert notes == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", Code.BAD_JSON),
        ('{"_id": "a", "text": NaN}', Code.BAD_JSON),
        ("[" * 100_000, Code.BAD_JSON),
        ('{"_id": "a", "n": ' + "1" * 5_000 + "}", Code.BAD_JSON),
        ("[1]", Code.BAD_RECORD),
        ('{"_id": "a", "text": 5}', Code.BAD_RECORD),
        ('{"text": "x"}', Code.BAD_ID),
        ('{"_id": true, "text": "x"}', Code.BAD_ID),
        ('{"_id": " ", "text": "x"}', Code.BAD_ID),
        ('{"_id": "\\ud83d", "text": "x"}', Code.BAD_ID),
        (json.dumps({"_id": "x" * 381, "text": "x"}), Code.BAD_ID),
        ('{"_id": "a", "title": " ", "text": "\\u3000\\n"}', Code.NO_TEXT),
        ('{"_id": "a"}', Code.NO_TEXT),
    ],
)
def test_a_bad_line_has_a_code_and_a_reason(line: str, code: Code):
    with pytest.raises(RecordError) as caught:
        parse(line)

    assert caught.value.code is code
    assert caught.value.reason


def test_cls_07_unpaired_surrogates_and_nul_are_replaced_and_noted():
    """CLS-07: what JSON lets through must not blow up where text is encoded; all other text passes unchanged."""
    document, notes = parse('{"_id": "a", "title": "\\udc00T", "text": "a\\ud83d b\\u0000c", "x": "\\ud83d"}')

    assert (document.title, document.text, document.metadata) == ("\ufffdT", "a\ufffd b\ufffdc", {"x": "\ufffd"})
    assert [code for code, _ in notes] == [Code.REPAIRED_TEXT, Code.REPAIRED_TEXT]
    assert document.text.encode()


@pytest.mark.parametrize(
    "text", ["كيف أعيد \u202eتعيين", "🙂👩\u200d👧", "Z" + "\u0301" * 10_000, "Zu\u0308rich", "Z\u00fcrich"]
)
def test_cls_07_valid_unicode_is_unchanged(text: str):
    document, notes = parse({"_id": "a", "text": text})

    assert document.text == text
    assert notes == []


@pytest.mark.parametrize(
    "field",
    [
        {"bad-name": 1},
        {"nested": {"a": 1}},
        {"list": [1, 2]},
        {"big": 2**63},
        {"far": 1e999},
        {"long": "x" * 40_000},
        {"many": ["x"] * 1_001},
        {"\ud83d": "x"},
        {"metadata": "x"},
    ],
)
def test_ing_04_a_field_no_engine_can_hold_is_left_out_by_name(field: dict):
    """ING-04: exact-match fields have a length guard (an engine refuses terms over 32,766 bytes)."""
    line = json.dumps({"_id": "a", "text": "x", **field}).replace("Infinity", "1e999")
    document, notes = parse(line)

    assert document.metadata == {}
    assert [code for code, _ in notes] == [Code.FIELD_DROPPED]
    assert notes[0][1].encode()


def test_more_fields_than_the_limit_are_named():
    document, notes = parse({"_id": "a", "text": "x", **{f"f{number}": number for number in range(70)}})

    assert len(document.metadata) == 64
    assert len(notes) == 6


def test_bad_triples_entities_and_vectors_are_left_out_and_named():
    record = {"_id": "a", "text": "x", "triples": [["a", "b"], ["a", "?", "c"], 5], "entities": "x", "vector": ["x"]}
    document, notes = parse(record)

    assert (document.triples, document.entities, document.vector) == ((), None, None)
    assert [code for code, _ in notes] == [Code.FIELD_DROPPED, *[Code.BAD_TRIPLE] * 3, Code.BAD_VECTOR]


def test_a_title_over_200_characters_opens_the_text_with_its_rest():
    title = "word " * 60
    document, _ = parse({"_id": "a", "title": title, "text": "body"})

    assert len(document.title) <= 200
    assert f"{document.title} {document.text}".split() == [*title.split(), "body"]


def test_a_title_without_text_is_its_own_text():
    document, _ = parse({"_id": "a", "title": "Only a title", "text": ""})

    assert (document.title, document.text) == ("Only a title", "Only a title")
