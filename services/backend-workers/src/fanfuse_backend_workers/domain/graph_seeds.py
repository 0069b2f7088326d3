"""Which entities the seeds of a search stand for.

In: surface forms and the text they may come from. Out: entities with their places in the text. A seed stands for the
entity of that very name; failing that, for symbols that end with it, for the longest names that overlap it in the
text, for entities whose name holds all its words. If no seed stands for any, every name in the text does. No character
of a seed is an operator.
"""

from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from fanfuse_backend_workers.domain.analysis_names import ends_with_name, entity_key, last_name
from fanfuse_backend_workers.domain.graph_asks import Ask, Entity, Find, Row, Rows
from fanfuse_backend_workers.domain.graph_question import Question
from fanfuse_backend_workers.domain.graph_words import is_small, words_of

MATCHES_PER_SEED: Final = 16
"""Entities that one seed that is no whole name stands for; each has an equal part of its weight."""
_LONGEST_NAME: Final = 12
"""Words of a name that is looked for in a text."""
_MAX_SPANS: Final = 600

Place = tuple[int, int]


@dataclass(slots=True)
class Seeds:
    """What the seeds stand for: one group of entities per seed or name, and where it stands in the text."""

    groups: list[tuple[tuple[Entity, ...], Place | None]] = field(default_factory=list)
    cut: bool = False
    """True: a seed stands for more entities than are taken."""

    def add(self, found: Sequence[Entity], place: Place | None) -> None:
        """One more seed."""
        if len(found) > MATCHES_PER_SEED:
            self.cut = True
        self.groups.append((tuple(found[:MATCHES_PER_SEED]), place))


def find_seeds(seeds: Sequence[str], question: Question) -> Generator[Ask, Rows, Seeds]:
    """Look the seeds up."""
    names = {key: seed for seed in reversed(seeds) if (key := entity_key(seed))}
    keys = tuple(dict.fromkeys(key for seed in seeds if (key := entity_key(seed))))
    found = Seeds()
    if not keys:
        return found
    rest: list[str] = []
    exact = _by_wanted((yield Ask(Find.KEYS, keys)))
    for key in keys:
        if key in exact:
            found.add(exact[key], question.place_of(names[key]))
        else:
            rest.append(key)
    if rest:
        rest = yield from _symbols(rest, found)
    if rest:
        rest = yield from _overlapping([names[key] for key in rest], question, found)
    for seed in rest:
        yield from _by_words(seed, question, found)
    if not found.groups:
        everywhere = _spans(question, 0, len(question.words))
        yield from _longest(everywhere, question, found, named_only=True)
    return found


def _symbols(keys: Iterable[str], found: Seeds) -> Generator[Ask, Rows, list[str]]:
    """Dotted symbols that end with a key."""
    wanted = {key: last_name(key) for key in keys}
    by_last = _by_wanted((yield Ask(Find.LAST_NAMES, tuple(sorted(set(wanted.values()))))))
    rest = []
    for key, last in wanted.items():
        if ending := [entity for entity in by_last.get(last, ()) if ends_with_name(entity.key, key)]:
            found.add(ending, None)
        else:
            rest.append(key)
    return rest


def _overlapping(names: Iterable[str], question: Question, found: Seeds) -> Generator[Ask, Rows, list[str]]:
    rest = []
    for name in names:
        place = question.place_of(name)
        if place is None:
            rest.append(name)
            continue
        before = len(found.groups)
        yield from _longest(_around(place, question), question, found)
        if len(found.groups) == before:
            rest.append(name)
    return rest


def _longest(
    places: Sequence[Place], question: Question, found: Seeds, *, named_only: bool = False
) -> Generator[Ask, Rows, None]:
    """The longest names among `places` that do not overlap each other."""
    spans = [(place, key) for place in places for key in question.span(*place) if key]
    if not spans:
        return
    known = _by_wanted((yield Ask(Find.KEYS, tuple(dict.fromkeys(key for _, key in spans)))))
    taken = [place for _, place in found.groups if place]
    for place, key in spans:
        start, end = place
        if key not in known or any(start < last and first < end for first, last in taken):
            continue
        if named_only and end - start == 1 and question.words[start].islower():
            continue
        taken.append(place)
        found.add(known[key], place)


def _around(place: Place, question: Question) -> list[Place]:
    start, end = place
    near = _spans(question, max(0, start - _LONGEST_NAME), min(len(question.words), end + _LONGEST_NAME))
    return [(first, last) for first, last in near if first < end and start < last]


def _spans(question: Question, start: int, end: int) -> list[Place]:
    """Longest first; none of small words only."""
    spans = [
        (first, first + length)
        for length in range(min(_LONGEST_NAME, end - start), 0, -1)
        for first in range(start, end - length + 1)
        if not all(map(is_small, question.keys[first : first + length]))
    ]
    return spans[-_MAX_SPANS:]


def _by_words(seed: str, question: Question, found: Seeds) -> Generator[Ask, Rows, None]:
    """Entities whose name holds all words of the seed, fewest words first."""
    words = set(words_of(entity_key(seed)))
    if all(map(is_small, words)):
        return
    rows = yield Ask(Find.WORDS, tuple(sorted(words)))
    entities = {row[0]: Entity(*row) for row in rows}
    named = [entity for key, entity in entities.items() if words <= set(words_of(key))]
    if named:
        ordered = sorted(named, key=lambda entity: (len(entity.key.split()), -entity.mentions, entity.key))
        # Names that merely hold the words are a guess: taking the likeliest leaves out nothing that was asked for.
        found.add(ordered[:MATCHES_PER_SEED], question.place_of(seed))


def _by_wanted(rows: Iterable[Row]) -> dict[str, list[Entity]]:
    found: dict[str, list[Entity]] = defaultdict(list)
    for wanted, *entity in rows:
        found[wanted].append(Entity(*entity))
    for entities in found.values():
        entities.sort(key=lambda entity: (-entity.mentions, entity.key))
    return found
