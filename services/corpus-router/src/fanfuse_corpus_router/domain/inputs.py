"""What a lane has to search with.

In: the query, what the classifier found in it, and a corpus's embedder. Out: the lane's input, or why there is none. A
vector of another model or size never stands in for a fitting one.
"""

from dataclasses import dataclass

from fanfuse_contracts import limits
from fanfuse_contracts.classification import QueryShape
from fanfuse_contracts.corpus import EmbedderSpec
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.query import QueryVector, SubmittedQuery
from fanfuse_corpus_router.domain.languages import language_problem
from fanfuse_corpus_router.domain.wired import WiredLane


@dataclass(frozen=True, slots=True)
class LaneInput:
    """The searchable part of a command."""

    text: str
    identifiers: tuple[str, ...] = ()
    vector: tuple[float, ...] | None = None
    seeds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoInput:
    """There is nothing to search with."""

    reason: str


class QueryInputs:
    """The inputs of one query's lanes. Only vector lanes differ between corpora, by their embedder."""

    def __init__(self, query: SubmittedQuery, classification: QueryShape) -> None:
        self._query = query
        self._classification = classification
        self._text = LaneInput(query.text)
        self._keyword = keyword_input(query, classification)
        self._graph = graph_input(query, classification)
        self._vectors: dict[bytes, LaneInput | NoInput] = {}

    def of(self, lane: WiredLane) -> LaneInput | NoInput:
        """The input of a lane."""
        kind, spec = lane.searched_with
        if kind is Kind.KEYWORD:
            return self._keyword
        return self.vector(lane.embedder, spec) if kind is Kind.VECTOR else self._graph

    def of_ready(self, lane: WiredLane) -> LaneInput:
        """The input of a lane that has one."""
        found = self.of(lane)
        assert isinstance(found, LaneInput)
        return found

    def problems(self, embedder: EmbedderSpec | None, spec: bytes) -> tuple[str | None, ...]:
        """Per kind, why lanes of a corpus with this embedder have nothing to search with; None where they have."""
        return tuple(map(_problem, (self.vector(embedder, spec), self._keyword, self._graph)))

    def vector(self, embedder: EmbedderSpec | None, spec: bytes) -> LaneInput | NoInput:
        """The input of a vector lane; `spec` is that of the embedder."""
        found = self._vectors.get(spec)
        if found is None:
            found = self._vectors[spec] = self._vector(embedder)
        return found

    def _vector(self, embedder: EmbedderSpec | None) -> LaneInput | NoInput:
        """The caller's vector, else that of the hypothetical answer, else the text for an embedder that knows it."""
        query = self._query
        if embedder is None:
            return NoInput("the corpus's card names no embedder")
        for vector in (query.vector, query.hyde_vector):
            if vector is not None and _fits(vector, embedder):
                return LaneInput(query.text, vector=vector.values)
        problem = _embedding_problem(embedder, query, self._classification)
        return self._text if problem is None else NoInput(problem)


def _problem(found: LaneInput | NoInput) -> str | None:
    return found.reason if isinstance(found, NoInput) else None


def _fits(vector: QueryVector, embedder: EmbedderSpec) -> bool:
    return vector.model == embedder.model and len(vector.values) == embedder.dimensions


def _embedding_problem(embedder: EmbedderSpec, query: SubmittedQuery, classification: QueryShape) -> str | None:
    if not embedder.local:
        return f"it needs a query vector of {embedder.model} with {embedder.dimensions} dimensions"
    if not query.text.strip():
        return "the query has no text to embed"
    return language_problem(embedder.languages, classification)


def keyword_input(query: SubmittedQuery, classification: QueryShape) -> LaneInput | NoInput:
    """The text with the caller's expansion terms appended."""
    text = " ".join(part for part in (query.text.strip(), *query.expansion_terms) if part.strip())
    return LaneInput(text, identifiers=classification.identifiers) if text else NoInput("the query has no words")


def graph_input(query: SubmittedQuery, classification: QueryShape) -> LaneInput | NoInput:
    """The caller's seeds; without any, the entities and identifiers of the text. An empty tuple means no graph lane."""
    found = (*classification.entities, *classification.identifiers) if query.graph_seeds is None else query.graph_seeds
    seeds = tuple(dict.fromkeys(seed for seed in found if seed.strip()))[: limits.MAX_GRAPH_SEEDS]
    if seeds:
        return LaneInput(query.text, seeds=seeds)
    return NoInput("no entity in the text to start from" if query.graph_seeds is None else "the caller gave no seeds")
