"""Multi-hop questions over graphs: chunks with their facts, and the names that stand in each question.

In: the evaluation data. Out: chunks, questions with seeds. A seed is a name as it is written in the question: no path
and no gold answer is given.
"""

import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fanfuse_backend_workers.domain.analysis_names import entity_key
from fanfuse_contracts.chunks import Chunk, Triple
from fanfuse_testing.collections import Collection, load_collection

_EDGES: Final = "?,.!;:\"'()"
_SMALL: Final = frozenset(
    {"the", "of", "a", "an", "in", "on", "at", "by", "for", "to", "with", "and", "or", "is", "it", "what", "who"}
)


@dataclass(frozen=True, slots=True)
class GraphQuestions:
    """A collection as chunks, and its questions with the names in each."""

    collection: Collection
    chunks: tuple[Chunk, ...]
    texts: dict[str, str]
    seeds: dict[str, tuple[str, ...]]


def metaqa(folder: Path, step: int = 1) -> GraphQuestions:
    """Every `step`th question. A chunk per entity bears its name and states the facts of which it is the subject."""
    collection = load_collection("metaqa", folder)
    facts = defaultdict(list)
    for row in _table(folder, "metaqa", "triples.tsv"):
        facts[row[0]].append(row)
    stated: set[str] = set()
    chunks = []
    for document in collection.documents:
        own = () if document.title in stated else _triples(facts[document.title])
        stated.add(document.title)
        name = document.document_id
        chunks.append(Chunk(chunk_id=name, text=document.text, title=document.title, content_hash=name, triples=own))
    some = dict(list(collection.queries.items())[::step])
    return _asked(collection, chunks, some, frozenset(stated))


def musique(folder: Path) -> GraphQuestions:
    """musique-200, and those of its questions whose passages have a graph."""
    collection = load_collection("musique-200", folder)
    chunks = list(_passages(collection, folder))
    graph = {chunk.chunk_id: chunk for chunk in chunks if chunk.triples or chunk.entities}
    names = frozenset(
        name
        for chunk in graph.values()
        for name in (chunk.title, *chunk.entities, *(end for t in chunk.triples for end in (t.subject, t.object)))
        if entity_key(name)
    )
    some = {key: text for key, text in collection.queries.items() if collection.qrels[key].keys() <= graph.keys()}
    return _asked(collection, chunks, some, names)


def _asked(
    collection: Collection, chunks: Sequence[Chunk], texts: dict[str, str], names: frozenset[str]
) -> GraphQuestions:
    seeds = {key: names_in(text, names) for key, text in texts.items()}
    return GraphQuestions(collection, tuple(chunks), texts, seeds)


def _passages(collection: Collection, folder: Path) -> Iterator[Chunk]:
    stated, mentioned = defaultdict(list), defaultdict(list)
    for passage, *fact in _table(folder, "musique-200", "triples.tsv"):
        stated[passage].append(fact)
    for passage, name in _table(folder, "musique-200", "passage_entities.tsv"):
        mentioned[passage].append(name)
    for document in collection.documents:
        name = document.document_id
        yield Chunk(
            chunk_id=name,
            text=f"{document.title} {document.text}",
            title=document.title[:200],
            content_hash=name,
            entities=tuple(mentioned[name]),
            triples=_triples(stated[name]),
            vector=tuple(collection.document_vectors[name].tolist()),
        )


def names_in(text: str, names: frozenset[str]) -> tuple[str, ...]:
    """The longest names that stand in a text as they are written, none inside another."""
    words = [(match.start(), match.end()) for match in re.finditer(r"\S+", text)]
    taken: list[tuple[int, int]] = []
    found = []
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            written = text[words[start][0] : words[start + length - 1][1]]
            bare = written.strip(_EDGES)
            name = next((one for one in (written, bare, bare.removesuffix("'s")) if one in names), None)
            free = all(start + length <= first or start >= last for first, last in taken)
            if name and free and name.lower() not in _SMALL:
                taken.append((start, start + length))
                found.append(name)
    return tuple(found)


def _table(folder: Path, name: str, file: str) -> list[list[str]]:
    """Rows of a tab-separated file of a collection, without its header."""
    with tarfile.open(folder / "data" / f"{name}.tar.xz") as archive:
        found = next(member for member in archive if member.name.endswith(file))
        stream = archive.extractfile(found)
        assert stream is not None
        return [line.split("\t") for line in stream.read().decode().splitlines()[1:]]


def _triples(rows: Sequence[Sequence[str]]) -> tuple[Triple, ...]:
    named = ((subject, re.sub(r"\W+", "_", name).strip("_").upper()[:60], target) for subject, name, target in rows)
    return tuple(
        Triple(subject=subject, relation=f"R_{name}" if not name[:1].isalpha() else name, object=target)
        for subject, name, target in named
        if subject.strip() and target.strip() and name.isascii() and max(len(subject), len(target)) <= 512
    )
