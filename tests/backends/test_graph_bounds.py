"""The bounds of a walk: what is read first, when a bound is a cut, and that the order of rows changes nothing."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from fanfuse_backend_workers.adapters.kglite_edges import Edges, EdgesWriter
from fanfuse_backend_workers.domain.graph_asks import Ask, Entity, Find, Rows
from fanfuse_backend_workers.domain.graph_bounds import FRONTIER, ONE, LeftOut
from fanfuse_backend_workers.domain.graph_chunks import mentions_to_read, share
from fanfuse_backend_workers.domain.graph_names import graph_names
from fanfuse_backend_workers.domain.graph_walk import score, walk
from fanfuse_backend_workers.ports import EngineResult
from fanfuse_contracts.chunks import Chunk, Triple

OWNER = {"tenant": "acme", "corpus": "docs"}


def edges_of(*facts: tuple[str, str, str]) -> EdgesWriter:
    """A chunk per fact, that bears the object's name."""
    writer = EdgesWriter(OWNER)
    for number, (subject, relation, target) in enumerate(facts):
        triple = Triple(subject=subject, relation=relation, object=target)
        named = graph_names(
            Chunk(chunk_id=f"c{number:04}", text="t", content_hash="0", title=target, triples=(triple,))
        )
        writer.add(f"c{number:04}", named)
    return writer


def walked(
    writer: EdgesWriter, seeds: tuple[str, ...], text: str, window: int, order: Callable[[Rows], Rows]
) -> EngineResult:
    """Runs a walk on edges alone; every ask's rows pass through `order`."""
    edges, entities = writer.edges(), {row["key"]: tuple(row.values()) for row in writer.entities()}
    asking = walk(seeds, text, window, filtered=False)

    def rows(ask: Ask) -> Rows:
        match ask.find:
            case Find.RELATIONS:
                return edges.relations(ask, OWNER)
            case Find.MENTIONS:
                return edges.mentions(ask, OWNER)
            case Find.CHUNKS:
                return [(key, "0", "") for key in ask.keys]
            case Find.KEYS:
                return [(key, *entities[key]) for key in ask.keys if key in entities]
            case _:
                return []

    ask = next(asking)
    while True:
        try:
            ask = asking.send(order(rows(ask)))
        except StopIteration as end:
            result: EngineResult = end.value
            return result


def as_they_are(rows: Rows) -> Rows:
    return rows


def test_the_order_of_rows_changes_nothing() -> None:
    """Sums are exact, so that two engines agree to the last bit whatever order their rows come in."""
    chance = random.Random(3)
    names = [f"n{number}" for number in range(60)]
    facts = [(chance.choice(names), chance.choice("RST"), chance.choice(names)) for _ in range(400)]
    writer = edges_of(*facts)
    straight = walked(writer, ("n1", "n2"), "", 50, as_they_are)
    assert len(straight.hits) == 50
    for _ in range(5):
        assert walked(writer, ("n1", "n2"), "", 50, lambda rows: chance.sample(rows, len(rows))) == straight


def test_a_bound_is_a_cut_only_where_it_may_have_cost_a_hit() -> None:
    """NEO-05: lighter than the last hit: no cut. As heavy, or the window is not full: a cut. Time is always one."""
    left_out = LeftOut()
    left_out.note("frontier", 5)
    left_out.note("frontier", 3)
    assert left_out.cuts(6) is None
    assert left_out.cuts(5) == "frontier"
    assert left_out.cuts(0) == "frontier"
    left_out.cut("time")
    assert left_out.cuts(6) == "time"
    assert left_out.cuts(1) == "frontier, time"


def test_states_beyond_the_frontier_cut_a_window_that_they_could_enter() -> None:
    """500 entities that one relation each leads to: 300 are followed on. The best 10 hits are no poorer for that."""
    facts = [("hub", f"R{number}", f"far{number}") for number in range(FRONTIER + 200)]
    writer = edges_of(*facts)
    few = walked(writer, ("hub",), "", 10, as_they_are)
    assert len(few.hits) == 10
    assert few.cut is None
    many = walked(writer, ("hub",), "", 1_000, as_they_are)
    assert len(many.hits) == FRONTIER + 200
    assert "frontier" in (many.cut or "").split(", ")


def test_bearers_are_read_first_then_what_a_mention_is_worth() -> None:
    """A hub's thousands of mentions are worth little each: they wait for those of rare entities."""
    hub, rare, light = Entity("hub", 4_176, 2, 0, 0), Entity("rare", 4, 1, 0, 0), Entity("light", 3, 0, 0, 0)
    weights = {"hub": ONE, "rare": ONE // 2, "light": ONE // 100}
    assert share(weights["hub"], hub, 1) < share(weights["rare"], rare, 1)
    ask = mentions_to_read((hub, rare, light), weights, rows=10)
    assert dict(zip(ask.keys, ask.most, strict=True)) == {"hub": 2 + 4, "rare": 4}
    assert mentions_to_read((hub, rare, light), weights, rows=2) == Ask(Find.MENTIONS, ("hub",), (2,))


def test_scores_are_logarithms_of_weights() -> None:
    """A hop that halves a weight takes one off the score, wherever on the scale."""
    assert score(0) == 0.0
    assert score(ONE) - score(ONE // 2) == pytest.approx(score(ONE >> 20) - score(ONE >> 21), abs=1e-6)


def test_edges_are_read_back_as_they_were(tmp_path: Path) -> None:
    """What a file holds is what was written, name by name."""
    writer = edges_of(("a", "R", "b"), ("b", "R", "c"), ("é", "S", "a"))
    writer.edges().save(tmp_path / "edges")
    loaded = Edges.load(tmp_path / "edges", OWNER)
    ask = Ask(Find.RELATIONS, ("a", "b", "c", "é", "nobody"), (9,) * 5)
    assert loaded.relations(ask, OWNER) == writer.edges().relations(ask, OWNER)
    assert ("a", False, "S", 1, "é") in [row[:5] for row in loaded.relations(ask, OWNER)]
    assert loaded.mentions(ask, OWNER) == writer.edges().mentions(ask, OWNER) != []
