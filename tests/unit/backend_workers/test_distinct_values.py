"""Which values of a field satisfy a leaf: compared with a plain evaluator, and cheap where the field has many."""

import math
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanfuse_backend_workers.adapters.distinct_values import DistinctValues
from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_testing.filter_reference import SCALARS, holds

LARGE = st.sampled_from((2**53, 2**53 + 1, float(2**53), -0.0, 0.0, 0, 10**400, 1e308, math.inf, 2**63 - 1))
VALUES: st.SearchStrategy[Any] = SCALARS | LARGE | st.lists(st.sampled_from("ab"), max_size=2).map(tuple)
WANTED = SCALARS | LARGE.filter(lambda value: value != math.inf)


def distinct(values: list[MetadataValue]) -> DistinctValues:
    made = DistinctValues()
    for value in values:
        made.number(value)
    made.sort()
    return made


def held(known: DistinctValues, leaf: Leaf) -> list[int]:
    return [number for run in known.holding(leaf) for number in range(*run)]


@given(st.lists(VALUES, max_size=20), st.sampled_from((Op.EQ, Op.GT, Op.GTE, Op.LT, Op.LTE)), WANTED)
def test_the_values_that_hold_are_those_of_a_plain_evaluator(values: list[MetadataValue], op: Op, wanted) -> None:
    if op is not Op.EQ and isinstance(wanted, bool):
        return
    leaf, known = Leaf(field="f", op=op, value=wanted), distinct(values)
    assert held(known, leaf) == [n for n, value in enumerate(known.values) if holds(leaf, {"f": value})]


@given(st.lists(VALUES, max_size=20), st.lists(WANTED, min_size=1, max_size=4).map(tuple))
def test_any_of_several_values(values: list[MetadataValue], wanted) -> None:
    leaf, known = Leaf(field="f", op=Op.IN, value=wanted), distinct(values)
    assert held(known, leaf) == [n for n, value in enumerate(known.values) if holds(leaf, {"f": value})]


@given(st.lists(VALUES, max_size=20), st.sampled_from((Op.GT, Op.GTE, Op.LT, Op.LTE)), WANTED)
def test_a_range_is_one_run_of_numbers(values: list[MetadataValue], op: Op, wanted) -> None:
    """Whatever order the values were met in, so that no engine is given a list of them."""
    if not isinstance(wanted, bool):
        assert len(distinct(values).holding(Leaf(field="f", op=op, value=wanted))) <= 1


@given(st.lists(VALUES, max_size=20))
def test_sorting_says_where_every_value_went(values: list[MetadataValue]) -> None:
    known = DistinctValues()
    met = [known.number(value) for value in values]
    places = known.sort()
    assert [places[number] for number in met] == [known.number(value) for value in values]
    assert sorted(places) == list(range(len(known.values)))


def test_a_value_that_equals_nothing_is_found_by_nothing() -> None:
    known = distinct([math.nan, 1.0])
    for op, value in ((Op.EQ, 1), (Op.LTE, 1)):
        assert [known.values[number] for number in held(known, Leaf(field="f", op=op, value=value))] == [1.0]


def test_looking_up_one_of_many_values_looks_at_none_of_the_others() -> None:
    """A thousand look-ups among 50,000 values take less than one look at each."""
    known = distinct(list(range(50_000)))
    began = time.process_time()
    looked = sum(isinstance(value, int) and value == 7 for value in known.values)
    once = time.process_time() - began
    began = time.process_time()
    found = [known.holding(Leaf(field="f", op=Op.EQ, value=value)) for value in range(0, 50_000, 5_000)]
    assert found == [((value, value + 1),) for value in range(0, 50_000, 5_000)]
    assert time.process_time() - began < max(10 * once, 0.05)
    assert looked == 1
