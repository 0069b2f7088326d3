"""What a caller may write: every bound of the contract is enforced with the field named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fanfuse_contracts import filters, limits
from fanfuse_contracts.filters import And, Leaf, Not, Op, Or
from fanfuse_contracts.query import AcceptedQuery, SubmittedQuery

BAD = [
    ({}, "text"),
    ({"text": 7}, "text"),
    ({"text": "x" * (limits.MAX_TEXT_BYTES + 1)}, "text"),
    ({"text": "a\x00b"}, "text"),
    ({"text": "a", "topk": 3}, "topk"),
    ({"text": "a", "top_k": 0}, "top_k"),
    ({"text": "a", "top_k": limits.MAX_TOP_K + 1}, "top_k"),
    ({"text": "a", "top_k": "many"}, "top_k"),
    ({"text": "a", "top_k": "3"}, "top_k"),
    ({"text": "a", "top_k": True}, "top_k"),
    ({"text": "a", "offset": False}, "offset"),
    ({"text": "a", "window": "100"}, "window"),
    ({"text": "a", "budget_ms": "2000"}, "budget_ms"),
    ({"text": "a", "include_text": "yes"}, "include_text"),
    ({"text": "a", "decision": {"corpora": [{"corpus": "docs", "weight": "1"}]}}, "weight"),
    ({"text": "a", "offset": -1}, "offset"),
    ({"text": "a", "budget_ms": 1}, "budget_ms"),
    ({"text": "a", "budget_ms": limits.MAX_BUDGET_MS + 1}, "budget_ms"),
    ({"text": "a", "corpora": []}, "corpora"),
    ({"text": "a", "corpora": ["acme.>"]}, "corpora"),
    ({"text": "a", "vector": {"model": "m", "values": [0, 0]}}, "vector"),
    ({"text": "a", "filter": {"field": "x", "op": "regexx", "value": 1}}, "filter"),
    ({"text": "a", "filter": {"field": "x", "op": "in", "value": 1}}, "filter"),
    ({"text": "a", "filter": {"field": "x", "op": "exists", "value": 1}}, "filter"),
    ({"text": "a", "filter": {"field": "x`) RETURN 1 //", "op": "eq", "value": 1}}, "filter"),
    ({"text": "a", "principal": {"id": ""}}, "principal"),
]


@pytest.mark.parametrize(("body", "field"), BAD, ids=[f"{field}-{n}" for n, (_, field) in enumerate(BAD)])
def test_a_bad_field_is_refused_by_name(body: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SubmittedQuery.from_json(json.dumps(body).encode())
    assert any(field in map(str, row["loc"]) for row in caught.value.errors())


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_vector_with_a_value_that_is_not_finite_is_refused(token: str) -> None:
    with pytest.raises(ValidationError):
        SubmittedQuery.from_json(b'{"text":"a","vector":{"model":"m","values":[1,%s]}}' % token.encode())


def test_a_filter_over_the_limits_is_refused() -> None:
    leaf = {"field": "year", "op": "eq", "value": 1}
    nested: dict[str, Any] = leaf
    for _ in range(limits.MAX_FILTER_DEPTH):
        nested = {"not": nested}
    for condition in ({"or": [leaf] * (limits.MAX_FILTER_LEAVES + 1)}, nested):
        with pytest.raises(ValidationError, match="filter"):
            SubmittedQuery.from_json(json.dumps({"text": "a", "filter": condition}).encode())


def test_an_accepted_query_ignores_what_a_newer_version_added() -> None:
    body = json.dumps({"text": "a", "invented_later": True}).encode()
    assert AcceptedQuery.from_json(body).text == "a"
    with pytest.raises(ValidationError):
        SubmittedQuery.from_json(body)


leaf_conditions = st.builds(
    Leaf, field=st.sampled_from(["year", "lang"]), op=st.sampled_from([Op.EQ, Op.NE]), value=st.integers() | st.text()
)
conditions = st.recursive(
    leaf_conditions,
    lambda inner: st.one_of(
        st.builds(Not, negated=inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(all_of=tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(any_of=tuple(parts))),
    ),
    max_leaves=8,
)


@given(conditions)
def test_a_filter_survives_the_wire_with_the_same_digest(condition: filters.Filter) -> None:
    query = AcceptedQuery.model_construct(text="a", filter=condition)
    try:
        back = AcceptedQuery.from_json(query.to_json())
    except ValidationError:
        assert filters.depth(condition) > limits.MAX_FILTER_DEPTH
        return
    assert back.filter == condition
    assert filters.digest("t", "c", back.filter) == filters.digest("t", "c", condition)


def test_the_digest_tells_tenants_corpora_and_filters_apart() -> None:
    leaf = Leaf(field="year", op=Op.EQ, value=1)
    digests = {
        filters.digest(tenant, corpus, condition)
        for tenant in ("a", "b")
        for corpus in ("x", "y")
        for condition in (None, leaf, Not(negated=leaf))
    }
    assert len(digests) == 12


@pytest.mark.parametrize(("offset", "top_k", "window"), [(0, 10, 10), (90, 10, 100), (400, 100, 500)])
def test_a_page_inside_the_window_is_accepted(offset: int, top_k: int, window: int) -> None:
    assert SubmittedQuery(text="a", offset=offset, top_k=top_k, window=window).offset == offset


@pytest.mark.parametrize(("offset", "top_k", "window"), [(0, 11, 10), (91, 10, 100), (400, 100, 100)])
def test_a_page_beyond_the_window_is_refused_with_what_to_do(offset: int, top_k: int, window: int) -> None:
    with pytest.raises(ValidationError, match="raise window"):
        SubmittedQuery(text="a", offset=offset, top_k=top_k, window=window)
