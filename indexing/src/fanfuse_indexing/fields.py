"""Which metadata fields a corpus can offer as filterable. In: the metadata of chunk after chunk. Out: one type per
field; a field whose values disagree is offered by nobody.
"""

from collections.abc import Iterator, Mapping

from fanfuse_contracts.chunks import MetadataValue
from fanfuse_contracts.corpus import FieldType
from fanfuse_indexing import limits

_NUMBERS = frozenset({FieldType.INTEGER, FieldType.FLOAT})


def type_of(value: MetadataValue) -> FieldType:
    """The type of one value."""
    match value:
        case bool():
            return FieldType.BOOLEAN
        case int():
            return FieldType.INTEGER
        case float():
            return FieldType.FLOAT
        case str():
            return FieldType.STRING
        case _:
            return FieldType.STRINGS


class FieldTypes:
    """Learns the type of each field from the values met."""

    def __init__(self) -> None:
        self.types: dict[str, FieldType] = {}
        self._refused: set[str] = set()

    def observe(self, metadata: Mapping[str, MetadataValue]) -> Iterator[tuple[str, str]]:
        """Learn from one chunk; yields each field that can't be offered from now on, with the reason, once."""
        for name, value in metadata.items():
            reason = None if name in self._refused else self._learn(name, type_of(value))
            if reason:
                self._refused.add(name)
                self.types.pop(name, None)
                yield name, reason

    def _learn(self, name: str, seen: FieldType) -> str | None:
        known = self.types.get(name)
        if known is None and len(self.types) + len(self._refused) >= limits.MAX_CORPUS_FIELDS:
            return f"more than {limits.MAX_CORPUS_FIELDS} fields"
        if known is None or known is seen:
            self.types[name] = seen
        elif {known, seen} == _NUMBERS:
            self.types[name] = FieldType.FLOAT
        else:
            return f"it is {known.value} and {seen.value}"
        return None
