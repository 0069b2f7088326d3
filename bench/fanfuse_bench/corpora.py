"""What is asked, and of which corpus: simulated, or a real one that is indexed first.

The real one is the judged collection cranfield where the evaluation data is present, else the standard library of this
interpreter with the documentation's questions.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from fanfuse_all_in_one.demo_corpora import python_stdlib
from fanfuse_all_in_one.indexing import Wish, index_corpus
from fanfuse_all_in_one.operating import Operator
from fanfuse_contracts.chunks import Chunk
from fanfuse_testing import simulated
from fanfuse_testing.collections import Collection, MissingDataError, load_collection, shared_folder

TENANT = simulated.TENANT
_QUESTIONS = (
    "How do I open a file for reading in Python?",
    "What does contextlib.suppress do?",
    "parse JSON text",
    "Which class schedules callbacks on an event loop?",
    "split a path into directory and file name",
    "shutil copytree symlinks",
    "How are decimal numbers rounded?",
    "run a subprocess with a timeout",
)


@dataclass(frozen=True, slots=True)
class Questions:
    """A corpus by name, with texts to ask."""

    corpus: str
    chunks: int
    texts: tuple[str, ...]
    beside: tuple[Mapping[str, Any], ...] = ({},)
    """What goes with each text."""

    def queries(self, count: int, run: str, **fields: Any) -> dict[str, dict[str, Any]]:
        """So many queries by id, the texts in turn; no two of one run are alike where the corpus is simulated."""
        asked = islice(zip(cycle(self.texts), cycle(self.beside), strict=False), count)
        return {
            f"{run}-{n}": {"text": text.replace("#", str(n)), **own, **fields} for n, (text, own) in enumerate(asked)
        }


async def simulated_questions(operator: Operator) -> Questions:
    """Register the simulated corpus."""
    card = simulated.CARD
    if (await operator.card(card.tenant, card.corpus)).card is None:
        await operator.put_card(card, over=0)
    text = "What did Alice Smith of Acme Corp say in report # about the price of solar panels in Spain?"
    return Questions(card.corpus, card.chunks, (text,))


async def real_questions(operator: Operator, data_dir: Path) -> Questions:
    """Index the real corpus; minutes for the first time."""
    try:
        collection = await asyncio.to_thread(load_collection, "cranfield", shared_folder())
    except MissingDataError:
        return await _stdlib(operator, data_dir)
    indexed = await index_corpus(operator, data_dir, Wish(TENANT, collection.name), collection_chunks(collection), dict)
    return Questions(collection.name, indexed.card.chunks, tuple(collection.queries.values()))


async def _stdlib(operator: Operator, data_dir: Path) -> Questions:
    corpus = python_stdlib()
    wish = Wish(TENANT, corpus.corpus, term_weights=corpus.term_weights)
    indexed = await index_corpus(operator, data_dir, wish, corpus.chunks, lambda: corpus.fields)
    return Questions(corpus.corpus, indexed.card.chunks, _QUESTIONS)


def collection_chunks(collection: Collection) -> Iterator[Chunk]:
    """A chunk per document, with its precomputed vector."""
    for document in collection.documents:
        yield Chunk(
            chunk_id=document.document_id,
            text=f"{document.title} {document.text}".strip() or "-",
            title=document.title[:200],
            content_hash=document.document_id,
            vector=tuple(collection.document_vectors[document.document_id].tolist()),
        )
