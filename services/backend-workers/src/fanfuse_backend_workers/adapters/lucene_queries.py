"""Search bodies and what comes back.

In: analysed terms, tenant, corpus and a compiled filter. Out: a bool query of term queries: text is data, and no part
of it is parsed by the server. An exact identifier gets a constant above the most that all other terms can score
together. Hits come by score, ties by chunk id.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fanfuse_backend_workers.adapters.lucene_failures import ServerError
from fanfuse_backend_workers.adapters.lucene_filters import Query
from fanfuse_backend_workers.domain.analysis import WHOLE_WEIGHT, QueryTerms
from fanfuse_backend_workers.ports import EngineHit, EngineResult, SearchRequest
from fanfuse_contracts.enums import FailureKind

MAX_TERMS: Final = 768
"""Distinct terms of a query; servers take 1,024 clauses, and the filter has some."""
_MAX_TERM_SCORE: Final = 2.2 * math.log(2**32 + 2)
"""BM25's k1 + 1, times the inverse document frequency of a word in one of 2^31 documents, the most an index holds."""
_SERVER_SHARE: Final = 0.8
"""Of the time for a search: what the server found by then still comes back as a short list."""
_HIT_FIELDS: Final = ("chunk_id", "content_hash", "title")


def search_body(request: SearchRequest, terms: QueryTerms, condition: Query | None, timeout_s: float) -> dict[str, Any]:
    """BM25 of `terms` within the request's tenant and corpus."""
    required: list[Query] = [{"term": {"tenant": request.tenant}}, {"term": {"corpus": request.corpus}}]
    if condition is not None:
        required.append(condition)
    scored = list(_scored(terms))[:MAX_TERMS]
    return {
        "size": request.window,
        "timeout": f"{max(1, round(timeout_s * _SERVER_SHARE * 1_000))}ms",
        "track_total_hits": False,
        "_source": _HIT_FIELDS,
        "query": {"bool": {"should": scored, "minimum_should_match": 1, "filter": required}},
        "sort": [{"_score": "desc"}, {"chunk_id": "asc"}],
    }


def read_result(reply: Mapping[str, Any], terms: QueryTerms) -> EngineResult:
    """The hits of a reply; one without a chunk id or a finite score is dropped and counted. Raises `ServerError`."""
    found = stored_hits(reply)
    hits = tuple(hit for one in found if (hit := _hit(one)) is not None)
    return EngineResult(hits, _cut(reply, terms), dropped=len(found) - len(hits))


def stored_hits(reply: Mapping[str, Any]) -> list[Any]:
    """Raises `ServerError(UNAVAILABLE)` for what is no reply to a search: no list is no empty list."""
    found = reply.get("hits")
    hits = found.get("hits") if isinstance(found, Mapping) else None
    if not isinstance(hits, list):
        raise ServerError(FailureKind.UNAVAILABLE, "what answers there is no search server: its reply has no hits")
    return hits


def shortage(reply: Mapping[str, Any]) -> str | None:
    """Why a reply holds less than there is, else None."""
    if reply.get("timed_out"):
        return "the server ran out of time"
    shards = reply.get("_shards", {})
    if failed := shards.get("failed", 0):
        return f"{failed} of {shards.get('total', failed)} shards failed"
    return None


def _scored(terms: QueryTerms) -> Iterator[Query]:
    """Exact entries first: they are never among what is left out."""
    above_all = math.ceil(1.0 + _MAX_TERM_SCORE * (len(terms.words) + WHOLE_WEIGHT * len(terms.wholes)))
    for exact in terms.exact:
        yield {"constant_score": {"filter": _exact(exact), "boost": above_all}}
    for whole, times in Counter(terms.wholes).items():
        yield _term("wholes", whole, WHOLE_WEIGHT * times)
    for word, times in Counter(terms.words).items():
        yield _term("words", word, times)


def _term(field: str, term: str, boost: float) -> Query:
    return {"term": {field: {"value": term} if boost == 1 else {"value": term, "boost": boost}}}


def _exact(exact: tuple[str, ...]) -> Query:
    if len(exact) > 1:
        return {"match_phrase": {"words": " ".join(exact)}}
    return {"bool": {"should": [{"term": {field: exact[0]}} for field in ("words", "wholes")]}}


def _hit(found: Mapping[str, Any]) -> EngineHit | None:
    stored = found.get("_source") or {}
    score = found.get("_score")
    chunk_id = stored.get("chunk_id")
    if not (isinstance(chunk_id, str) and chunk_id and isinstance(score, int | float) and math.isfinite(score)):
        return None
    return EngineHit(chunk_id, float(score), str(stored.get("content_hash", "")), str(stored.get("title", "")))


def _cut(reply: Mapping[str, Any], terms: QueryTerms) -> str | None:
    if (short := shortage(reply)) is not None:
        return short
    asked = sum(1 for _ in _scored(terms))
    return None if asked <= MAX_TERMS else f"{MAX_TERMS} of the query's {asked} terms were searched"
