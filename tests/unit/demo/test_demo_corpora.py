"""The corpora of the demonstration fit their cards, belong to two tenants, and hold what their questions ask for."""

from pathlib import Path

import pytest

from fanfuse_all_in_one.demo_corpora import DemoCorpus, demo_corpora, find_repository
from fanfuse_all_in_one.demo_questions import QUESTIONS, Question
from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_indexing.fields import type_of


@pytest.fixture(scope="module")
def corpora(repository: Path) -> list[tuple[DemoCorpus, list[Chunk]]]:
    return [(corpus, list(corpus.chunks)) for corpus in demo_corpora(repository)]


def test_two_tenants_three_corpora(corpora: list[tuple[DemoCorpus, list[Chunk]]]):
    assert [(corpus.tenant, corpus.corpus) for corpus, _ in corpora] == [
        ("acme", "python-stdlib"),
        ("acme", "fanfuse-docs"),
        ("globex", "packages"),
    ]


def test_chunks_fit_their_card(corpora: list[tuple[DemoCorpus, list[Chunk]]]):
    for corpus, chunks in corpora:
        card = CorpusCard(
            tenant=corpus.tenant,
            corpus=corpus.corpus,
            display_name=corpus.display_name,
            description=corpus.description,
            fields=dict(corpus.fields),
            term_weights=dict(corpus.term_weights),
        )
        assert chunks
        assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
        assert {(name, type_of(value)) for chunk in chunks for name, value in chunk.metadata.items()} == set(
            card.fields.items()
        )
        assert all(term == term.lower() and weight > 0 for term, weight in card.term_weights.items())


def test_the_documents_of_the_project_are_named_by_their_path(corpora: list[tuple[DemoCorpus, list[Chunk]]]):
    documents = {chunk.document_id for corpus, chunks in corpora if corpus.corpus == "fanfuse-docs" for chunk in chunks}

    assert {"README.md", "docs/flow.md"} <= documents


def test_without_a_checkout_its_documents_are_left_out(monkeypatch: pytest.MonkeyPatch):
    assert find_repository() is not None
    monkeypatch.setattr("fanfuse_all_in_one.demo_corpora.__file__", "/nowhere/demo_corpora.py")

    assert [corpus.corpus for corpus in demo_corpora()] == ["python-stdlib", "packages"]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_questions_have_their_shape_and_an_answer(corpora: list[tuple[DemoCorpus, list[Chunk]]], question: Question):
    ids = {chunk.chunk_id for corpus, chunks in corpora if corpus.tenant == question.tenant for chunk in chunks}

    assert set(question.expected) & ids
    assert classify_shape(question.text).shape is question.shape
