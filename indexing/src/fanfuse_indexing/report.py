"""What became of every source: what was left out and why, what was changed on the way in, and the totals.

In: remarks made while loading. Out: a frozen `LoadReport`. Nothing is left out without a line here or in its counts.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from fanfuse_contracts.corpus import FieldType
from fanfuse_indexing import limits


class Code(StrEnum):
    """Why a source was left out (first part), or what was done to one that was loaded (second part)."""

    NO_TEXT = "no_text"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    UNDECODABLE = "undecodable"
    UNSUPPORTED = "unsupported"
    ENCRYPTED = "encrypted"
    TOO_SLOW = "too_slow"
    LINK = "link"
    BAD_JSON = "bad_json"
    BAD_RECORD = "bad_record"
    BAD_ID = "bad_id"
    DUPLICATE_ID = "duplicate_id"
    PASSED_OVER = "passed_over"
    """Left out by rule, as hidden folders and pictures are: no fault of the source."""

    OTHER_ENCODING = "other_encoding"
    REPAIRED_TEXT = "repaired_text"
    NOT_PARSED = "not_parsed"
    SPLIT = "split"
    EMPTY_PAGES = "empty_pages"
    FIELD_DROPPED = "field_dropped"
    MIXED_TYPES = "mixed_types"
    BAD_TRIPLE = "bad_triple"
    CUT_LIST = "cut_list"
    BAD_VECTOR = "bad_vector"
    NO_VECTOR = "no_vector"
    UNUSED_VECTORS = "unused_vectors"


@dataclass(frozen=True, slots=True)
class Remark:
    """One line of a report. `source`: the path as listed; `line`: from 1, None for a whole file."""

    source: str
    line: int | None
    reason: str
    code: Code

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.reason} [{self.code}]"


class Skipped(Remark):
    """A file, or a line of one, that is not in the index."""

    __slots__ = ()


class Notice(Remark):
    """Something the reader should know about a source that is in the index."""

    __slots__ = ()


@dataclass(frozen=True)
class LoadReport:
    """Totals of one run, and what was left out."""

    loaded: int
    """Documents: files, or records of a JSONL file."""
    chunks: int
    skipped: tuple[Skipped, ...]
    """In the order met; the first `limits.MAX_LISTED` faults, and as many that are passed over by rule."""
    notices: tuple[Notice, ...] = ()
    counts: Mapping[Code, int] = field(default_factory=dict)
    """How often each code was met, also beyond what is listed."""
    blank_chunks: int = 0
    """Files and records without any text: each is also among `skipped`."""
    fault_counts: Mapping[Code, int] = field(default_factory=dict)
    """How often each reason was met for what was left out though it was probably meant to be in, listed or not."""
    noticed: int = 0
    """Notices, also beyond what is listed."""
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    """Metadata whose values were of one type throughout: what a card may offer as filterable."""

    @property
    def left_out(self) -> int:
        """How many files, lines and parts were left out though they were probably meant to be in."""
        return sum(self.fault_counts.values())

    @property
    def faults(self) -> tuple[Skipped, ...]:
        """Those listed that were probably meant to be in: a reason for an exit status other than zero."""
        return tuple(skipped for skipped in self.skipped if skipped.code is not Code.PASSED_OVER)


@dataclass
class Ledger:
    """Collects a report while loading runs; memory is bounded by `limits.MAX_LISTED`."""

    loaded: int = 0
    chunks: int = 0
    blank_chunks: int = 0
    bytes_read: int = 0
    _counts: Counter[Code] = field(default_factory=Counter)
    _faults: Counter[Code] = field(default_factory=Counter)
    _noticed: int = 0
    _skipped: list[Skipped] = field(default_factory=list)
    _notices: list[Notice] = field(default_factory=list)

    def skip(self, source: str, line: int | None, code: Code, reason: str) -> None:
        """Note a file or line that is left out."""
        self._counts[code] += 1
        self.blank_chunks += code is Code.NO_TEXT
        passed_over = code is Code.PASSED_OVER
        if not passed_over:
            self._faults[code] += 1
        if (self._counts[code] if passed_over else self._faults.total()) <= limits.MAX_LISTED:
            self._skipped.append(Skipped(source, line, reason[: limits.MAX_REASON_CHARS], code))

    def notice(self, source: str, line: int | None, code: Code, reason: str) -> None:
        """Note what was done to a file or line that is loaded."""
        self._counts[code] += 1
        self._noticed += 1
        if len(self._notices) < limits.MAX_LISTED:
            self._notices.append(Notice(source, line, reason[: limits.MAX_REASON_CHARS], code))

    def report(self, fields: Mapping[str, FieldType]) -> LoadReport:
        """The state so far, frozen, with the field types learned elsewhere."""
        return LoadReport(
            loaded=self.loaded,
            chunks=self.chunks,
            skipped=tuple(self._skipped),
            notices=tuple(self._notices),
            counts=MappingProxyType(dict(self._counts)),
            blank_chunks=self.blank_chunks,
            fault_counts=MappingProxyType(dict(self._faults)),
            noticed=self._noticed,
            fields=MappingProxyType(dict(fields)),
        )
