"""What is wrong with a query is told in the contract's words, without those of the library that found it."""

import pytest

from fanfuse_client.errors import InvalidQuery
from fanfuse_client.queries import build_query


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"corpora": ["[/x]"]},
            "corpora.0: token '[/x]' is not valid: use 1 to 64 of lower-case letters, digits, '_' and '-'",
        ),
        ({"top_k": 200, "window": 100}, "top_k: Input should be less than or equal to 100"),
        ({"top_k": 90, "offset": 20}, "query: offset + top_k is 110, more than window 100: raise window"),
        ({"vector": {"model": "m", "values": [0, 0]}}, "vector.values: vector has no direction"),
    ],
)
def test_a_fault_names_its_place_and_what_to_do(fields, said):
    with pytest.raises(InvalidQuery) as refused:
        build_query("x", None, fields)
    assert str(refused.value).startswith(said)
    assert "Value error" not in str(refused.value)
    assert "pydantic" not in str(refused.value)


def test_a_place_deep_down_is_told_short():
    nested: object = {"field": "lang", "op": "eq", "value": "de"}
    for _ in range(300):
        nested = {"not": nested}
    with pytest.raises(InvalidQuery) as refused:
        build_query("x", None, {"filter": nested})
    assert str(refused.value).startswith("filter.not.not")
    assert len(str(refused.value)) < 300
