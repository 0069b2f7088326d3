"""Short documents that are the same in every run: words and entities by Zipf's law, given vectors, metadata.

In: how many. Out: chunks, one at a time, and questions about them. Nothing is held, so that what is measured is the
engines' memory.
"""

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from fanfuse_backend_workers.ports import SearchRequest
from fanfuse_contracts.chunks import Chunk, Triple, content_hash
from fanfuse_contracts.filters import Filter, Leaf, Op

TENANT, CORPUS = "bench", "short"
DIMENSIONS: Final = 384
_WORDS: Final = 20_000
_WORDS_OF_A_TEXT: Final = 30
_DOCUMENTS_PER_ENTITY: Final = 10
_PARTS: Final = tuple((byte - 127.5) / 128 for byte in range(256))


class Question(NamedTuple):
    """A kind of search, and the filter it has."""

    name: str
    filter: Filter | None


def questions(count: int) -> tuple[Question, ...]:
    """Without a filter, with a field of five values, and with one whose value differs in every document."""
    middle = Leaf(field="stamp", op=Op.GTE, value=count // 2)
    return (
        Question("no filter", None),
        Question("one of 5 values", Leaf(field="lang", op=Op.EQ, value="de")),
        Question("range over a field unique per document", middle),
        Question("equal to a value unique per document", Leaf(field="stamp", op=Op.EQ, value=count // 3)),
    )


class _Zipf:
    def __init__(self, names: int, chance: random.Random) -> None:
        self._ends = list(accumulate(1.0 / place for place in range(1, names + 1)))
        self._places, self._chance = range(names), chance

    def draw(self, count: int) -> list[int]:
        return self._chance.choices(self._places, cum_weights=self._ends, k=count)


def documents(count: int) -> Iterator[Chunk]:
    """`count` chunks."""
    chance = random.Random(11)
    words, entities = _Zipf(_WORDS, chance), _Zipf(_entities(count), chance)
    for number in range(count):
        title, text = _text(words.draw(4)), _text(words.draw(_WORDS_OF_A_TEXT))
        named = [_entity(one) for one in entities.draw(3)]
        yield Chunk(
            chunk_id=f"doc-{number}#0",
            text=text,
            title=title,
            content_hash=content_hash(title, text),
            metadata={"lang": chance.choice(("de", "en", "es", "fr", "zh")), "stamp": number},
            entities=tuple(named),
            triples=(Triple(subject=named[0], relation="RELATED_TO", object=named[1]),),
            vector=_vector(chance),
        )


def searches(count: int, asked: int, condition: Filter | None) -> Iterator[SearchRequest]:
    """`asked` searches over `count` documents, each with a text, a vector and entities."""
    chance = random.Random(13)
    words, entities = _Zipf(_WORDS, chance), _Zipf(_entities(count), chance)
    for _ in range(asked):
        seeds = tuple(_entity(one) for one in entities.draw(2))
        text = _text(words.draw(4))
        yield SearchRequest(TENANT, CORPUS, text, 100, 60.0, vector=_vector(chance), seeds=seeds, filter=condition)


def _entities(count: int) -> int:
    return max(count // _DOCUMENTS_PER_ENTITY, 10)


def _entity(number: int) -> str:
    return f"Entity {number}"


def _text(words: list[int]) -> str:
    return " ".join(f"w{word}" for word in words)


def _vector(chance: random.Random) -> tuple[float, ...]:
    return tuple(_PARTS[byte] for byte in chance.randbytes(DIMENSIONS))
