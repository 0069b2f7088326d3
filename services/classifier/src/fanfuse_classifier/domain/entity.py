"""What a name in a text is: its surface form, its place, its length.

Data only.
"""

from typing import NamedTuple


class Entity(NamedTuple):
    """A name as it stands in the text; `words` is its length in words, half a word per character without blanks."""

    text: str
    start: int
    end: int
    words: float
    marked: bool = False
    """True where something beside the name marks it: title marks, a form of address, a kind of organisation."""
    quoted: bool = False
    beside_name: bool = False
    """True for an acronym that stands beside a name: Tesla and BYD."""

    @property
    def is_acronym(self) -> bool:
        """Capitals only, one word: as often a term (RAG, CEO) as a name."""
        return self.words == 1 and self.text.isupper() and not self.beside_name

    @property
    def is_full(self) -> bool:
        """True for what is a name beyond doubt: several words, or marked as one."""
        return self.marked or (self.words > 1 and not self.quoted)
