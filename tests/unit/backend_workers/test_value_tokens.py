"""Runs of numbers as tokens: every number of a run is found, no other is, and a long run takes few."""

from hypothesis import given
from hypothesis import strategies as st

from fanfuse_backend_workers.adapters.value_tokens import run_tokens, value_tokens

BORNE_BY_ONE_OF_50_000 = 4
FEWEST_THAT_ALWAYS_DO = 2 * 15 * (BORNE_BY_ONE_OF_50_000 - 1) + 13


@given(st.data())
def test_a_run_is_found_exactly(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 5_000))
    ends = sorted(
        data.draw(st.lists(st.integers(0, size), min_size=2, max_size=6).filter(lambda one: not len(one) % 2))
    )
    runs = tuple((start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if start < stop)
    wanted = set(run_tokens(2, runs, size))
    found = {value for value in range(size) if wanted & set(value_tokens(2, value, size))}
    assert found == {value for run in runs for value in range(*run)}


@given(st.integers(0, 50_000), st.integers(0, 50_000))
def test_a_long_run_takes_few_tokens(one: int, other: int) -> None:
    tokens = list(run_tokens(0, ((min(one, other), max(one, other)),), 50_000))
    assert len(tokens) <= FEWEST_THAT_ALWAYS_DO
    assert len(set(tokens)) == len(tokens)


def test_a_chunk_bears_one_token_for_each_level() -> None:
    assert [len(list(value_tokens(0, 3, size))) for size in (1, 16, 17, 256, 257, 50_000)] == [1, 1, 2, 2, 3, 4]
