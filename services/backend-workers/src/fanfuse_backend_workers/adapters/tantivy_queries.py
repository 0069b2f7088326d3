"""Builds tantivy's query objects from analysed terms and a compiled filter.

An exact identifier gets a constant above the most that all other terms can score together, so a document that holds
it comes before every document that lacks it, whatever else they hold.
"""

import math
from collections.abc import Iterator
from typing import Final

from tantivy import Occur, Query, Schema, Searcher

from fanfuse_backend_workers.adapters.filter_values import (
    AllOf,
    AnyOf,
    Condition,
    HasField,
    HasValue,
    Negation,
)
from fanfuse_backend_workers.adapters.value_tokens import field_token, run_tokens
from fanfuse_backend_workers.domain.analysis import WHOLE_WEIGHT, QueryTerms

_TERM_LIMIT: Final = 2.2
"""BM25's k1 + 1 (tantivy: k1 1.2, b 0.75): a term scores at most this times its inverse document frequency."""


def keyword_query(
    schema: Schema, searcher: Searcher, terms: QueryTerms, owner: tuple[str, str], condition: Condition | None
) -> Query:
    """BM25 of `terms` within (tenant, corpus) and `condition`."""
    tenant, corpus = owner
    required = [Query.term_query(schema, "tenant", tenant), Query.term_query(schema, "corpus", corpus)]
    if condition is not None:
        required.append(_condition_query(schema, condition))
    scored = Query.boolean_query([(Occur.Should, query) for query in _scored(schema, searcher, terms)])
    return Query.boolean_query(
        [(Occur.Must, scored), *((Occur.Must, Query.const_score_query(query, 0.0)) for query in required)]
    )


def _scored(schema: Schema, searcher: Searcher, terms: QueryTerms) -> Iterator[Query]:
    for word in terms.words:
        yield Query.term_query(schema, "words", word)
    for whole in terms.wholes:
        yield Query.boost_query(Query.term_query(schema, "wholes", whole), WHOLE_WEIGHT)
    for exact in terms.exact:
        yield Query.const_score_query(_exact_query(schema, exact), 1.0 + _most_score(searcher, terms))


def _exact_query(schema: Schema, exact: tuple[str, ...]) -> Query:
    if len(exact) > 1:
        return Query.phrase_query(schema, "words", list(exact))
    fields = ("words", "wholes")
    return Query.boolean_query([(Occur.Should, Query.term_query(schema, field, exact[0])) for field in fields])


def _most_score(searcher: Searcher, terms: QueryTerms) -> float:
    words = sum(_inverse_frequency(searcher, "words", word) for word in terms.words)
    wholes = sum(_inverse_frequency(searcher, "wholes", whole) for whole in terms.wholes)
    return math.ceil(_TERM_LIMIT * (words + WHOLE_WEIGHT * wholes))


def _inverse_frequency(searcher: Searcher, field: str, term: str) -> float:
    found = searcher.doc_freq(field, term)
    return math.log1p((searcher.num_docs - found + 0.5) / (found + 0.5))


def _condition_query(schema: Schema, condition: Condition) -> Query:
    match condition:
        case HasField(field):
            return Query.term_query(schema, "values", field_token(field))
        case HasValue(field, runs, size):
            return Query.term_set_query(schema, "values", list(run_tokens(field, runs, size)))
        case Negation(part):
            return Query.boolean_query(
                [(Occur.Must, Query.all_query()), (Occur.MustNot, _condition_query(schema, part))]
            )
        case AllOf(parts):
            return _joined(schema, Occur.Must, parts) if parts else Query.all_query()
        case AnyOf(parts):
            return _joined(schema, Occur.Should, parts) if parts else Query.empty_query()


def _joined(schema: Schema, occur: Occur, parts: tuple[Condition, ...]) -> Query:
    return Query.boolean_query([(occur, _condition_query(schema, part)) for part in parts])
