"""What each lane contributed, counted by hand on small answers."""

from fanfuse_contracts.answer import Answer, AnswerHit, Contribution, Coverage, LaneReport
from fanfuse_contracts.enums import Kind, LaneOutcome, Status
from fanfuse_contracts.quality import LaneQuality
from fanfuse_fuser.domain.quality import KindCounts, Tally

VECTOR, KEYWORD, GRAPH = Kind.VECTOR, Kind.KEYWORD, Kind.GRAPH


def hit(
    rank: int, *kinds: Kind, corpus: str = "docs", reserved_by: str | None = None, backend: str = "main"
) -> AnswerHit:
    by = tuple(
        Contribution(lane=f"{corpus}-{kind}", kind=kind, backend=backend, rank=1, weight=1.0, value=1.0)
        for kind in kinds
    )
    return AnswerHit(
        rank=rank, corpus=corpus, chunk_id=f"c{rank}", score=1.0, contributions=by, reserved_by=reserved_by
    )


def lane(kind: Kind, outcome: LaneOutcome = LaneOutcome.ANSWERED, corpus: str = "docs", **fields: object) -> LaneReport:
    return LaneReport.model_validate(
        {"lane": f"{corpus}-{kind}", "corpus": corpus, "kind": kind, "backend": "main", "outcome": outcome} | fields
    )


def answer(lanes: list[LaneReport], *hits: AnswerHit) -> Answer:
    return Answer(
        tenant="acme",
        query_id="q",
        status=Status.COMPLETE,
        hits=hits,
        coverage=Coverage(expected=3, lanes=tuple(lanes)),
    )


def counts(one: Answer) -> tuple[KindCounts, dict[str, tuple[LaneQuality, ...]]]:
    """By kind, and by corpus."""
    tally = Tally()
    tally.add(one)
    return tally.take_kinds(), {corpus: lanes for (_, corpus), lanes in tally.take_corpora().items()}


def test_hits_found_alone_and_together() -> None:
    counted, corpora = counts(
        answer(
            [lane(VECTOR), lane(KEYWORD), lane(GRAPH, LaneOutcome.EMPTY)],
            hit(1, VECTOR, KEYWORD),
            hit(2, VECTOR),
            hit(3, VECTOR),
            hit(4, KEYWORD, reserved_by="docs-keyword"),
        )
    )
    assert counted.compared == {VECTOR: 4, KEYWORD: 4, GRAPH: 4}
    assert counted.found == {
        (VECTOR, "alone"): 2,
        (VECTOR, "together"): 1,
        (KEYWORD, "alone"): 1,
        (KEYWORD, "together"): 1,
    }
    assert counted.pairs == {
        ("vector+keyword", "both"): 1, ("vector+keyword", "one"): 3, ("vector+graph", "one"): 3,
        ("keyword+graph", "one"): 2,
    }  # fmt: skip
    assert counted.seats == {KEYWORD: 1}
    rows = {row.kind: row for row in corpora["docs"]}
    assert rows[VECTOR] == LaneQuality(kind=VECTOR, backend="main", answers=1, compared=4, found=3, alone=2)
    assert rows[KEYWORD] == LaneQuality(kind=KEYWORD, backend="main", answers=1, compared=4, found=2, alone=1, seats=1)
    assert rows[GRAPH] == LaneQuality(kind=GRAPH, backend="main", answers=1, compared=4)
    assert (rows[VECTOR].price, rows[KEYWORD].price, rows[GRAPH].price) == (0.5, 0.25, 0.0)
    assert rows[KEYWORD].agreement == 0.5
    assert rows[GRAPH].agreement is None


def test_what_is_left_of_an_outage_is_not_irreplaceable() -> None:
    """With the vector lane lost keyword hits are alone for want of others: nothing is compared."""
    lost = [lane(VECTOR, LaneOutcome.SKIPPED_UNHEALTHY, lane=None), lane(KEYWORD)]
    counted, corpora = counts(answer(lost, hit(1, KEYWORD), hit(2, KEYWORD)))
    assert not counted.compared
    assert not counted.found
    rows = {row.kind: row for row in corpora["docs"]}
    assert (rows[VECTOR].lost, rows[VECTOR].answers, rows[VECTOR].price) == (1, 0, None)
    assert (rows[KEYWORD].answers, rows[KEYWORD].compared) == (1, 0)


def test_corpora_are_counted_apart() -> None:
    lanes = [lane(VECTOR), lane(KEYWORD), lane(KEYWORD, corpus="faq")]
    counted, corpora = counts(answer(lanes, hit(1, VECTOR), hit(2, KEYWORD, corpus="faq")))
    assert counted.compared == {VECTOR: 1, KEYWORD: 1}
    assert [row.compared for row in corpora["faq"]] == [0]


def test_two_backends_of_a_kind_are_compared_with_each_other() -> None:
    lanes = [lane(KEYWORD), lane(KEYWORD, lane="docs-eu", backend="eu")]
    counted, corpora = counts(answer(lanes, hit(1, KEYWORD)))
    assert not counted.compared
    rows = {row.backend: row for row in corpora["docs"]}
    assert (rows["main"].price, rows["eu"].price) == (1.0, 0.0)


def test_a_shared_lane_counts_for_each_of_its_corpora() -> None:
    shared = lane(VECTOR, corpus="_all", corpora=("docs", "faq"))
    counted, _ = counts(
        answer([shared, lane(KEYWORD), lane(KEYWORD, corpus="faq")], hit(1, VECTOR), hit(2, VECTOR, corpus="faq"))
    )
    assert counted.compared == {VECTOR: 2, KEYWORD: 2}


def test_what_was_taken_is_not_told_again() -> None:
    tally = Tally()
    for _ in range(3):
        tally.add(answer([lane(VECTOR), lane(KEYWORD)], hit(1, VECTOR)))
    assert tally.size == 2
    assert tally.take_corpora()["acme", "docs"][0].answers == 3
    assert tally.take_kinds().compared == {VECTOR: 3, KEYWORD: 3}
    assert (tally.size, tally.take_corpora(), dict(tally.take_kinds().compared)) == (0, {}, {})
