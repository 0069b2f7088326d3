"""TEN-02, TEN-06 for every world: no lane that may not be read, and none that cannot enforce the filter.

Whole worlds are generated from a seed: private and public corpora, namesakes of another tenant, filters, pins, earlier
decisions, fallbacks, capabilities, a last resort, shared lanes, failures. What a lane may be is written a second time
here, on the raw JSON of the query, without a look at the code under test.
"""

import functools
import hashlib
import json
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from fanfuse_contracts.classification import CorpusScore, Effect, FiredRule
from fanfuse_contracts.corpus import EmbedderSpec, FieldType, Wiring
from fanfuse_contracts.enums import Kind, LaneOutcome, SourceKind, UnconfirmedReason
from fanfuse_contracts.filters import Op
from fanfuse_contracts.plan import Clarification, Rejection
from fanfuse_contracts.query import Principal
from fanfuse_corpus_router.domain.facts import BackendFacts

NAMES = ("alder", "birch", "cedar", "dogwood", "linden", "hazel")
ROLES = ("hr", "sales", " ")
BACKENDS = ("main", "spare")
EMBEDDERS = (
    EmbedderSpec(model="mini", dimensions=3),
    EmbedderSpec(model="maxi", dimensions=4),
    EmbedderSpec(model="far", dimensions=3, local=False),
    None,
)
OPERATORS = ("eq", "ne", "in", "not_in", "gt", "lte", "contains", "exists")
ABLE = (frozenset(Op), frozenset(Op) - {Op.NE, Op.NOT_IN, Op.EXISTS}, frozenset({Op.EQ, Op.GT, Op.CONTAINS}))
USUAL = (("f", FieldType.STRING), ("g", FieldType.INTEGER))
WORLDS = 300
SEEDS = range(8)


# The rules, written a second time


def readable(card, principal):
    if card.tenant != "acme":
        return False
    if card.public:
        return True
    if principal is None or principal.id.strip() == "":
        return False
    return not card.readers or bool({role for role in card.readers if role.strip()} & principal.roles)


def conditions(raw):
    """Leaves of a filter in JSON."""
    if raw is None:
        return
    for word in ("and", "or"):
        for part in raw.get(word, ()):
            yield from conditions(part)
    if "not" in raw:
        yield from conditions(raw["not"])
    if "field" in raw:
        yield raw


MEANINGFUL = {
    "string": ({"eq", "ne", "in", "not_in", "gt", "gte", "lt", "lte", "contains", "exists"}, (str,)),
    "integer": ({"eq", "ne", "in", "not_in", "gt", "gte", "lt", "lte", "exists"}, (int,)),
    "float": ({"eq", "ne", "in", "not_in", "gt", "gte", "lt", "lte", "exists"}, (int, float)),
    "boolean": ({"eq", "ne", "in", "not_in", "exists"}, (bool,)),
    "strings": ({"contains", "exists"}, (str,)),
}


def enforces(card, wiring, raw):
    for leaf in conditions(raw):
        declared = card.fields.get(leaf["field"])
        if declared is None or leaf["op"] not in {op.value for op in wiring.operators}:
            return False
        operators, types = MEANINGFUL[declared.value]
        values = leaf["value"] if isinstance(leaf["value"], list) else [leaf["value"]]
        fits = leaf["op"] == "exists" or all(type(value) in types for value in values)
        if leaf["op"] not in operators or not fits:
            return False
    return True


def attested(corpora, condition):
    """The digest of the wire contract: sixteen hex digits over tenant, corpora and the filter's JSON."""
    body = "" if condition is None else json.dumps(condition, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"acme\n{corpora}\n{body}".encode()).hexdigest()[:16]


# The worlds


class World:
    """One generated query with everything around it."""

    def __init__(self, build, chance: random.Random) -> None:
        self.chance = chance
        self.asking = chance.choice((0.1, 0.1, 0.6))
        self.excluding = self.choose((0.05, 12), (0.95, 1))
        self.public = self.choose((0.6, 12), (0.0, 1))
        self.cards = [self.card(build, name) for name in NAMES]
        self.cards += [self.card(build, name, tenant="globex", public=True) for name in chance.sample(NAMES, 2)]
        chance.shuffle(self.cards)
        roles = frozenset(chance.sample(ROLES, chance.randrange(3)))
        who = self.choose(("bob", 6), (" ", 1))
        self.principal = self.choose((None, 1), (Principal(id=who, roles=roles), 2))
        self.filter = chance.choice((None, self.condition(2), self.condition(3)))
        self.query = self.choose(
            ({}, 7), ({"corpora": self.some()}, 2), ({"decision": self.earlier()}, 2), ({"capability": "state"}, 1)
        )
        lost = chance.choice((0.0, 0.1, 0.3))
        self.unhealthy = frozenset((kind, backend) for kind in Kind for backend in BACKENDS if chance.random() < lost)
        if chance.random() < 0.4:
            self.unhealthy |= {(kind, "main") for kind in Kind}
        self.event = build.event(
            scores=tuple(self.score(name) for name in NAMES if chance.random() < 0.8),
            principal=self.principal,
            filter=self.filter,
            **self.query,
        )
        self.routing = build.routing(
            strategy=chance.choice(("learned", "learned", "learned", "all", "static_rules", "explicit")),
            fan_out=chance.random() < 0.5,
            max_corpora=chance.choice((0, 1, 2)),
            unconstrained_corpus=chance.choice((None, *NAMES)),
        )

    def choose(self, *weighted):
        return self.chance.choices([one for one, _ in weighted], [weight for _, weight in weighted])[0]

    def some(self):
        return tuple(self.chance.sample((*NAMES, "nowhere"), self.chance.randrange(1, 4)))

    def earlier(self):
        weights = (None, {"vector": self.chance.choice((0.0, 2.0)), "keyword": 1.0, "graph": 0.5})
        rows = [{"corpus": name, "weight": self.chance.random() or 1.0} for name in self.some()]
        return {"corpora": [row | {"weights": self.chance.choice(weights)} for row in rows]}

    def card(self, build, name, **fixed):
        chance = self.chance
        engines = chance.choice((BACKENDS, BACKENDS[:1], BACKENDS[1:]))
        wired = [(kind, backend) for kind in Kind for backend in engines if chance.random() < 0.6]
        values = {
            "public": chance.random() < self.public,
            "readers": frozenset(chance.sample(ROLES, chance.randrange(3))),
            "fields": {field: self.choose((usual, 6), (chance.choice(list(FieldType)), 1)) for field, usual in USUAL},
            "source": self.choose(("reference", 5), ("policy", 1), ("record", 2)),
            "embedder": self.choose(*zip(EMBEDDERS, (6, 2, 1, 1), strict=True)),
            "fallbacks": tuple(chance.sample([one for one in NAMES if one != name], chance.randrange(6))),
            "can_answer": (build.capability("state"),) if chance.random() < 0.7 else (),
            "backends": tuple(
                wiring(kind, backend, chance.randrange(3) > 0, self.able(), self.on()) for kind, backend in wired
            ),
        }
        return build.card(name, **(values | fixed))

    def able(self):
        return self.choose(*zip(ABLE, (6, 1, 1), strict=True))

    def on(self):
        return self.choose((1.0, 9), (0.0, 1))

    def score(self, name):
        fired = tuple(
            FiredRule(rule=f"r-{effect.value}", effect=effect, amount=1.0)
            for effect in Effect
            if self.chance.random() < self.excluding
        )
        asked = ("state",) if self.chance.random() < self.asking else ()
        cannot = self.choose(((), 9), (("salaries",), 1))
        score = self.chance.choice((-1.0, 0.0, 1.0, 2.5))
        row = CorpusScore(corpus=name, score=score, fired=fired, cannot_confirm=cannot)
        found = tuple({"capability": one, "matched": ("state",)} for one in asked)
        return CorpusScore.model_validate(row.model_dump() | {"asked": found})

    def condition(self, depth):
        chance = self.chance
        if depth > 1 and chance.random() < 0.4:
            parts = [self.condition(depth - 1) for _ in range(chance.randrange(1, 3))]
            return chance.choice(({"and": parts}, {"or": parts}, {"not": parts[0]}))
        field, op = chance.choice("fg"), chance.choice(OPERATORS)
        usual = "x" if field == "f" else 7
        value = self.choose((usual, 12), (chance.choice((1, 2.5, "x", True)), 1))
        if op in ("in", "not_in"):
            value = [value]
        elif op == "exists":
            value = True
        elif op in ("gt", "lte") and value is True:
            value = 7
        return {"field": field, "op": op, "value": value}


@functools.cache
def wiring(kind, backend, shared, operators, weight):
    return Wiring(kind=kind, backend=backend, pool=f"{backend}-pool", shared=shared, operators=operators, weight=weight)


# What must hold


def check_lanes(world, routed):
    cards = {card.corpus: card for card in world.cards if readable(card, world.principal)}
    named = {one["corpus"] for one in world.query.get("decision", {}).get("corpora", ())}
    named |= set(world.query.get("corpora", ()))
    for lane, command in zip(routed.plan.lanes, routed.commands, strict=True):
        covered = lane.corpora or (lane.corpus,)
        assert (lane.corpus == "_all") == (len(covered) > 1)
        assert list(covered) == sorted(set(covered))
        for corpus in covered:
            card = cards[corpus]  # a KeyError is a corpus that may not be read
            wired = next(one for one in card.backends if (one.kind, one.backend) == (lane.kind, lane.backend))
            assert enforces(card, wired, world.filter)
            assert wired.pool == lane.pool
            assert wired.shared or len(covered) == 1
        assert len({cards[corpus].embedder for corpus in covered}) == 1 or lane.kind is not Kind.VECTOR
        assert len(covered) == 1 or not world.routing.fan_out
        assert (lane.kind, lane.backend) not in world.unhealthy
        assert not named or set(covered) <= named
        assert command.filter == world.event.query.filter
        assert command.filter_digest == lane.filter_digest == attested(",".join(covered), world.filter)
        assert (command.tenant, command.corpus, command.corpora) == ("acme", lane.corpus, lane.corpora)
        assert (command.kind, command.backend, command.lane) == (lane.kind, lane.backend, lane.name)
    assert len({lane.name for lane in routed.plan.lanes}) == len(routed.plan.lanes)


def check_the_rest(world, plan):
    """Every wired lane of a selected corpus is searched once or named, and no kind of truth stands in for another."""
    cards = {card.corpus: card for card in world.cards if readable(card, world.principal)}
    rows = [(one, lane.kind, lane.backend) for lane in plan.lanes for one in lane.corpora or (lane.corpus,)]
    rows += [(lane.corpus, lane.kind, lane.backend) for lane in plan.skipped]
    selected = plan.corpus_decision.selected_corpora
    assert [one.corpus for one in plan.decisions] == list(selected)
    assert sorted(rows) == sorted((one, w.kind, w.backend) for one in selected for w in cards[one].backends)
    for lane in plan.skipped:
        wired = next(w for w in cards[lane.corpus].backends if (w.kind, w.backend) == (lane.kind, lane.backend))
        if lane.outcome is LaneOutcome.SKIPPED_FILTER:
            assert not enforces(cards[lane.corpus], wired, world.filter)
    searched = {one for lane in plan.lanes for one in lane.corpora or (lane.corpus,)}
    lost = {row.corpus for row in plan.unconfirmed if row.reason is UnconfirmedReason.DOWN}
    assert not searched & lost
    asked = {one.source for one in plan.decisions if one.asked}
    counting = plan.decisions if "corpora" in world.query else plan.decisions[:1]
    kinds = asked or {one.source for one in counting}
    if any(cards[one].source in kinds for one in lost):
        assert any(cards[one].source in kinds for one in searched)
    for one in plan.decisions:
        if one.stands_in_for is not None:
            down = cards[one.stands_in_for]
            assert one.corpus in down.fallbacks
            assert cards[one.corpus].source is down.source
            assert down.corpus in lost
            assert one.corpus in searched
            assert one.corpus != world.routing.unconstrained_corpus or not cards[one.corpus].public


def told(outcome):
    return outcome.plan.to_json() if hasattr(outcome, "plan") else outcome.to_json()


def check_secrets(world, outcome):
    """What may not be read is not named, unless the caller named it."""
    hidden = {card.corpus for card in world.cards} - {
        card.corpus for card in world.cards if readable(card, world.principal)
    }
    said = json.dumps(world.query)
    for name in hidden:
        assert name in said or name not in told(outcome).decode()


def summary(world, outcome):
    """What a world turned out to be about, to prove that the generator reaches everything."""
    if isinstance(outcome, Rejection):
        return [outcome.code.value]
    if isinstance(outcome, Clarification):
        return ["clarification"]
    plan = outcome.plan
    return [
        "plan",
        plan.corpus_decision.strategy.value,
        *(["filtered"] if world.filter is not None else []),
        *(["skipped by filter"] if any(one.outcome is LaneOutcome.SKIPPED_FILTER for one in plan.skipped) else []),
        *(["pin"] if "corpora" in world.query else []),
        *(["sticky"] if "decision" in world.query else []),
        *(["stand-in"] if any(one.stands_in_for for one in plan.decisions) else []),
        *(["shared"] if any(lane.corpora for lane in plan.lanes) else []),
        *(["shared and filtered"] if world.filter and any(lane.corpora for lane in plan.lanes) else []),
        *(["down"] if any(one.reason is UnconfirmedReason.DOWN for one in plan.unconfirmed) else []),
    ]


REACHED = {
    "plan": 1_000,
    "filtered": 500,
    "skipped by filter": 200,
    "pin": 150,
    "sticky": 150,
    "stand-in": 20,
    "shared": 50,
    "shared and filtered": 25,
    "down": 100,
    "unconstrained": 40,
    "static_rules": 100,
    "learned": 100,
    "all": 100,
    "clarification": 20,
    "no_visible_corpus": 20,
    "unknown_corpus": 100,
    "unsupported_filter": 100,
    "unconfirmed": 100,
    "pin_required": 80,
    "all_excluded": 10,
    "no_lane": 40,
}
"""How often at least each case must have been among the worlds."""


@pytest.fixture(scope="module")
def worlds(build):
    made = []
    for seed in SEEDS:
        chance = random.Random(seed)
        made += [World(build, chance) for _ in range(WORLDS)]
    return [SimpleNamespace(world=one, outcome=route(build, one)) for one in made]


def route(build, world):
    facts = BackendFacts(unhealthy=world.unhealthy)
    return build.route(world.event, *world.cards, facts=facts, routing=world.routing)


def test_no_lane_may_not_be_read_or_cannot_enforce_the_filter(worlds):
    """At least 2,000 principal × corpus × filter combinations (here: 2,400 × 8), pins and all."""
    assert len(worlds) >= 2_000
    for one in worlds:
        if not isinstance(one.outcome, Rejection | Clarification):
            check_lanes(one.world, one.outcome)
            assert one.outcome.plan.lanes


def test_every_wired_lane_is_accounted_for_and_no_kind_of_truth_stands_in_for_another(worlds):
    planned = [one for one in worlds if not isinstance(one.outcome, Rejection | Clarification)]
    for one in planned:
        check_the_rest(one.world, one.outcome.plan)
    assert len(planned) >= REACHED["plan"]


def test_nothing_told_names_a_corpus_that_may_not_be_read(worlds):
    assert len(worlds) >= 2_000
    for one in worlds:
        check_secrets(one.world, one.outcome)


def test_what_may_not_be_read_changes_no_byte(worlds, build):
    """The same query in a world where the invisible corpora do not exist at all."""
    for one in worlds[:800]:
        bare = SimpleNamespace(**vars(one.world))
        bare.cards = [card for card in one.world.cards if readable(card, one.world.principal)]
        assert route(build, bare) == one.outcome


def test_the_worlds_reach_every_case(worlds):
    seen = Counter(word for one in worlds for word in summary(one.world, one.outcome))
    assert {word: seen[word] for word, least in REACHED.items() if seen[word] < least} == {}
    assert {row.source for one in worlds for row in one.world.cards} == set(SourceKind)
