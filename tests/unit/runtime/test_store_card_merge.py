"""What the operators' file owns of a card and what `index` owns."""

import pytest

from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, FieldType, Wiring
from fanfuse_contracts.enums import Kind, SourceKind
from fanfuse_runtime.card_merge import INDEX_OWNED, StatedOtherwiseError, changed_fields, merge_fields, with_index

STATED = CorpusCard(
    tenant="acme",
    corpus="docs",
    display_name="from the file",
    readers=frozenset({"staff"}),
    backends=(Wiring(kind=Kind.KEYWORD, backend="main", pool="main"),),
    source=SourceKind.POLICY,
    cost=2.0,
    term_weights={"rule": 1.0},
)
SPEC = EmbedderSpec(model="m", dimensions=3)
INDEXED = CorpusCard(
    tenant="acme",
    corpus="docs",
    display_name="as registered",
    public=True,
    generation="g1",
    chunks=7,
    indexed_at="2026-11-30T10:00:00Z",
    embedder=SPEC,
    fields={"year": FieldType.INTEGER},
)


def test_every_part_but_the_index_is_the_file_s():
    merged = with_index(STATED, INDEXED)
    kept = {*INDEX_OWNED, "embedder", "fields"}
    for name in CorpusCard.model_fields:
        assert getattr(merged, name) == getattr(INDEXED if name in kept else STATED, name), name
    assert with_index(STATED, merged) == merged
    assert with_index(STATED, None) == STATED


def test_of_a_corpus_that_was_never_indexed_nothing_is_kept():
    """What an earlier file stated, and this one no longer does, is gone."""
    earlier = STATED.model_copy(update={"fields": {"old": FieldType.STRING}, "embedder": SPEC})
    assert with_index(STATED, earlier) == STATED


@pytest.mark.parametrize(
    ("stated", "found", "merged"),
    [
        ({}, {"a": FieldType.STRING}, {"a": FieldType.STRING}),
        ({"a": FieldType.STRING}, {}, {"a": FieldType.STRING}),
        ({"a": FieldType.STRING}, {"b": FieldType.BOOLEAN}, {"a": FieldType.STRING, "b": FieldType.BOOLEAN}),
        ({"a": FieldType.FLOAT}, {"a": FieldType.INTEGER}, {"a": FieldType.FLOAT}),
    ],
)
def test_fields_are_stated_or_found(stated, found, merged):
    assert merge_fields("docs", stated, found) == merged


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        (FieldType.INTEGER, FieldType.FLOAT),
        (FieldType.INTEGER, FieldType.STRING),
        (FieldType.STRING, FieldType.STRINGS),
        (FieldType.BOOLEAN, FieldType.INTEGER),
    ],
)
def test_a_field_of_two_types_is_a_typed_error(stated, found):
    with pytest.raises(
        StatedOtherwiseError, match=f"'a' of corpus docs is stated as {stated.value}.*holds {found.value}"
    ):
        merge_fields("docs", {"a": stated}, {"a": found})


def test_another_embedder_than_the_index_s_is_a_typed_error():
    stated = STATED.model_copy(update={"embedder": EmbedderSpec(model="other", dimensions=3)})
    with pytest.raises(StatedOtherwiseError, match=r"indexed with m \(3 dimensions\).*states other \(3 dimensions\)"):
        with_index(stated, INDEXED)
    assert with_index(stated, INDEXED.model_copy(update={"generation": None})).embedder == stated.embedder


def test_an_embedder_of_the_same_vectors_is_the_file_s():
    stated = STATED.model_copy(update={"embedder": EmbedderSpec(model="m", dimensions=3, languages=("en",))})
    assert with_index(stated, INDEXED).embedder == stated.embedder


def test_another_document_prefix_makes_other_vectors():
    """Between two endpoints; a model the worker has itself knows its own prefix."""
    there = EmbedderSpec(model="m", dimensions=3, endpoint="https://embed.example.org/v1")
    used = there.model_copy(update={"document_prefix": "passage: ", "query_prefix": "query: "})
    indexed = INDEXED.model_copy(update={"embedder": used})
    other = STATED.model_copy(update={"embedder": there})
    with pytest.raises(StatedOtherwiseError, match=r"indexed with m \(3 dimensions, document_prefix 'passage: '\)"):
        with_index(other, indexed)
    same = STATED.model_copy(update={"embedder": there.model_copy(update={"document_prefix": "passage: "})})
    assert with_index(same, indexed).embedder == same.embedder
    moved = STATED.model_copy(update={"embedder": used})
    assert with_index(moved, INDEXED).embedder == used


def test_changed_parts_are_named():
    assert changed_fields(STATED, STATED) == ()
    assert changed_fields(STATED, INDEXED)[:3] == ("backends", "chunks", "cost")
