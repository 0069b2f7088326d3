"""The tokens by which an engine of keyword fields finds values: any run of numbers is made of few of them.

In: numbers of fields and values. Out: tokens. Sixteen neighbours make a block, sixteen blocks one of the next level; a
chunk bears the blocks of its value on every level, as numeric indexes of search engines do. A run of 25,000 values is
then found by fewer than a hundred tokens, and exactly.
"""

from collections.abc import Iterator
from typing import Final

from fanfuse_backend_workers.adapters.distinct_values import Runs

_FAN_OUT: Final = 16


def field_token(field: int) -> str:
    """Token of every chunk that has the field."""
    return str(field)


def value_tokens(field: int, value: int, size: int) -> Iterator[str]:
    """Tokens of a chunk with this value in the field, of which there are `size`."""
    for level in range(_levels(size)):
        yield _token(field, level, value)
        value //= _FAN_OUT


def run_tokens(field: int, runs: Runs, size: int) -> Iterator[str]:
    """The fewest tokens of which every chunk with a value in these runs bears one, and no other chunk any."""
    for start, stop in runs:
        for level, block in _blocks(start, stop, _levels(size)):
            yield _token(field, level, block)


def _token(field: int, level: int, block: int) -> str:
    return f"{field}:{level}:{block}"


def _levels(size: int) -> int:
    levels = 1
    while size > _FAN_OUT:
        levels, size = levels + 1, -(-size // _FAN_OUT)
    return levels


def _blocks(start: int, stop: int, levels: int) -> Iterator[tuple[int, int]]:
    """Level and number of the largest blocks that fill a run."""
    for level in range(levels - 1):
        while start < stop and start % _FAN_OUT:
            yield level, start
            start += 1
        while start < stop and stop % _FAN_OUT:
            stop -= 1
            yield level, stop
        start, stop = start // _FAN_OUT, stop // _FAN_OUT
    for block in range(start, stop):
        yield levels - 1, block
