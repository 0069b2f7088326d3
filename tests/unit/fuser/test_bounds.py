"""Early finish by bounds: what was settled stays so whatever missing lanes bring, and nothing less is waited for."""

import random
from itertools import pairwise

import pytest

from fanfuse_contracts.fusion import FusionConfig, FusionPolicy
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_fuser.domain.bounds import settled
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.ranked import RankedList
from tests.unit.fuser.fuser_builders import hits, lane, shared_lane

KINDS = ("vector", "keyword", "graph")
CORPORA = ("a", "b", "c")
POLICIES = tuple(FusionPolicy)
CASES = 150
"""120,000 cases were run once, see docs/adr/0016-quorum-and-early-finish.md."""


def rule(policy=FusionPolicy.RRF, seats=0, collapse=False):
    return FusionConfig(policy=policy, reserved_seats=seats, collapse=collapse)


def ids(lists, config, depth):
    return [(row.corpus, row.chunk_id) for row in fuse(lists, config)[:depth]]


def found(draw: random.Random, lane_, count) -> list[LaneHit]:
    """Hits of one lane: some chunks that others find too, scores with ties, hashes that several chunks share."""
    scores = sorted((draw.choice((draw.random(), 0.5, -1.0)) for _ in range(count)), reverse=True)
    names = draw.sample(range(30), count)
    return [
        LaneHit(
            chunk_id=f"c{name}",
            rank=rank,
            score=score,
            content_hash=draw.choice((f"h{name}", f"h{draw.randrange(30)}", "")),
            corpus=draw.choice(lane_.corpora) if lane_.corpora else None,
        )
        for rank, (name, score) in enumerate(zip(names, scores, strict=True), start=1)
    ]


def random_plan(draw: random.Random):
    lanes = []
    for number in range(draw.randint(2, 6)):
        weight = draw.choice((draw.uniform(0.01, 2.0), 10.0 ** -draw.randint(1, 7)))
        kind = draw.choice(KINDS)
        if draw.random() < 0.2:
            one = shared_lane(kind, *sorted(draw.sample(CORPORA, 2)), weight=weight)
        else:
            one = lane(kind, draw.choice(CORPORA), weight)
        lanes.append(one.model_copy(update={"name": f"l{number}"}))
    return lanes


def of_plan(plan, lists):
    """The lists in the order of the plan."""
    return sorted(lists, key=lambda one: plan.index(one.lane))


def adversary(draw: random.Random, one, here: list[RankedList]) -> list[LaneHit]:
    """What could do harm: chunks that are known already, first, with a score of their own; or anything."""
    kind = draw.randrange(3)
    if kind == 0:
        return found(draw, one, draw.randint(1, 12))
    known = [
        hit.model_copy(update={"corpus": (hit.corpus or of.corpus) if one.corpora else None})
        for of, lane_hits in ((each.lane, each.hits) for each in here)
        for hit in lane_hits
        if (hit.corpus or of.corpus) in (one.corpora or (one.corpus,))
    ]
    unique = list({hit.chunk_id: hit for hit in known}.values())
    chosen = draw.sample(unique, min(len(unique), draw.randint(1, 4)))
    changes = {"content_hash": f"h{draw.randrange(30)}"} if kind == 1 else {}
    return [hit.model_copy(update={"rank": rank, "score": 1.0} | changes) for rank, hit in enumerate(chosen, start=1)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("seats", "collapse"), [(0, False), (0, True), (1, False), (1, True), (2, True)])
def test_an_early_top_k_is_that_of_the_full_answer(policy, seats, collapse):
    """FUS-07, FUS-08: for random lanes, weights, policies and arrivals; the missing lanes then do their worst."""
    config, early = rule(policy, seats, collapse), 0
    for number in range(CASES):
        draw = random.Random(f"{policy}-{seats}-{collapse}-{number}")
        plan = random_plan(draw)
        depth = draw.randint(1, 6 if seats else 12)
        arrived = draw.sample(plan, draw.randint(1, len(plan) - 1))
        lists = of_plan(plan, [RankedList(one, found(draw, one, draw.randint(0, 20))) for one in arrived])
        lists = [one for one in lists if one.hits]
        missing = [one for one in plan if one not in arrived]
        if not lists or not settled(lists, missing, plan, config, depth):
            continue
        early += 1
        wanted = ids(lists, config, depth)
        assert len(wanted) == depth
        for _ in range(25):
            late = [RankedList(one, adversary(draw, one, lists)) for one in missing if draw.random() < 0.8]
            full = of_plan(plan, [*lists, *(one for one in late if one.hits)])
            assert ids(full, config, depth) == wanted, (number, config)
    assert early > CASES / 100, "some lanes are not waited for"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_not_settled_could_change(policy):
    """The bounds are tight: where the wait goes on, a reply exists that changes the first hits."""
    config, waited = rule(policy), 0
    for number in range(CASES):
        draw = random.Random(f"tight-{policy}-{number}")
        plan = [one for one in random_plan(draw) if not one.corpora] or [lane("vector", "a", name="l0")]
        arrived = plan[:-1] or plan
        missing = [one for one in plan if one not in arrived] or [lane("graph", "b", 0.77, name="last")]
        order = [*arrived, *missing]
        lists = [RankedList(one, found(draw, one, draw.randint(5, 20))) for one in arrived]
        depth = draw.randint(1, 5)
        if settled(lists, missing, order, config, depth):
            continue
        waited += 1
        wanted, rows = ids(lists, config, depth), fuse(lists, config)
        lone = [(row.corpus, row.chunk_id) for row in rows] + [(one.corpus, "!") for one in missing]
        changed = any(
            ids([*lists, *(RankedList(one, hits(name)) for one in missing if one.corpus == corpus)], config, depth)
            != wanted
            for corpus, name in lone
        )
        tie = any(one.score - two.score < 1e-15 for one, two in pairwise(rows))
        assert changed or tie, number
    assert waited > CASES / 8


def test_a_corpus_of_little_weight_is_not_waited_for():
    """The case that pays: the router is nearly sure of one corpus, another one is slow."""
    lists = [RankedList(lane(kind, "a", 1.0), hits(*(f"c{number}" for number in range(30)))) for kind in KINDS]
    slow = [lane("vector", "b", 0.01), lane("keyword", "b", 0.02)]
    plan = [*(one.lane for one in lists), *slow]
    for policy in POLICIES:
        assert settled(lists, slow, plan, rule(policy), 10), policy
        assert not settled(lists, [lane("graph", "a", 0.5)], plan, rule(policy), 10), "of the same corpus"


def test_with_reserved_seats_a_missing_lane_always_reaches_the_first_ten():
    lists = [RankedList(lane(kind, "a", 1.0), hits(*(f"c{number}" for number in range(30)))) for kind in KINDS]
    slow = [lane("vector", "b", 0.01)]
    plan = [*(one.lane for one in lists), *slow]
    assert settled(lists, slow, plan, rule(seats=1), 9)
    assert not settled(lists, slow, plan, rule(seats=1), 10)
    assert not settled(lists, slow, plan, rule(seats=1), 50)


def test_fewer_hits_than_the_page_has_places_are_never_settled():
    one = RankedList(lane("vector", "a"), hits("x", "y"))
    slow = [lane("vector", "b", 1e-6)]
    assert settled([one], slow, [one.lane, *slow], rule(), 2)
    assert not settled([one], slow, [one.lane, *slow], rule(), 3)


def test_a_lane_that_may_change_a_content_hash_is_waited_for():
    """Copies are told by the hash of the first lane of the plan that has a chunk."""
    first, second = lane("vector", "a", 1e-9), lane("keyword", "a", 1.0)
    lists = [RankedList(second, hits(*(f"c{number}" for number in range(20))))]
    assert settled(lists, [first], [second, first], rule(collapse=True), 3)
    assert not settled(lists, [first], [first, second], rule(collapse=True), 3)
