"""Several faults of one model, each with the path of the value at fault, so that all are told at once."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

Loc = tuple[int | str, ...]
"""Keys and list positions from the model down to a value."""
Fault = tuple[Loc, str]


class FaultsError(ValueError):
    """What is wrong, in one line; `faults` holds the parts, with paths relative to the model that raised it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(message for _, message in self.faults))


def refuse(faults: Iterable[Fault]) -> None:
    """Raise `FaultsError` if there are any."""
    if found := list(faults):
        raise FaultsError(found)


def repeated(names: Sequence[Hashable]) -> Iterator[int]:
    """Position of each name that stood before."""
    seen: Counter[Hashable] = Counter()
    for position, name in enumerate(names):
        if seen[name]:
            yield position
        seen[name] += 1
