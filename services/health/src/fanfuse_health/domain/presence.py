"""Whether the workers of a backend were away and are back, since its present state began.

In: one look per tick. Out: the next presence. It only remembers; `transitions.probe_due` decides what follows.
"""

from typing import NamedTuple


class Presence(NamedTuple):
    """What was seen of a backend's pools in one version of its state."""

    version: int = 0
    was_absent: bool = False
    absent: bool = False

    @property
    def returned(self) -> bool:
        """True if every pool was absent once in this version of the state, and one is there now."""
        return self.was_absent and not self.absent


def look(presence: Presence, version: int, absent: bool) -> Presence:
    """The presence after one look. A new version of the state forgets an absence that is over."""
    was_absent = absent or (presence.was_absent and version == presence.version)
    return Presence(version, was_absent, absent)
