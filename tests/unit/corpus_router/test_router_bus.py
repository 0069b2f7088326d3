"""What the router publishes and in which order: no crash or redelivery leaves a planned lane without its command."""

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace

from fanfuse_contracts import flow, metrics, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.capability import Argument, Capability
from fanfuse_contracts.classification import AskedCapability
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Kind, RejectionCode, Stage, Status
from fanfuse_contracts.operations import RouteAudited
from fanfuse_contracts.plan import QueryPlanned, Rejection, RetrieveCommand
from fanfuse_contracts.query import Hop
from fanfuse_corpus_router.adapters import narration
from fanfuse_corpus_router.bus import RouterHandlers
from fanfuse_runtime.bus import Stored
from fanfuse_runtime.errors import PublishRefusedError, TooLargeError
from fanfuse_runtime.metrics import Metrics
from fanfuse_runtime.pools import PoolLook

TENANT, QUERY = "acme", "q1"


class CrashError(Exception):
    """The process dies here."""


@dataclass
class FakeBus:
    """Stores once per message id, as a stream does; dies, refuses or slows down where a test says so."""

    stored: dict = field(default_factory=dict)
    order: list = field(default_factory=list)
    crash_after: int | None = None
    refuses: str | None = None
    too_large: str | None = None
    now: int = 1_000_000_000

    def now_ns(self):
        return self.now

    def elapsed_ms(self, submitted_ns):
        return max(0.0, (self.now - submitted_ns) / 1e6)

    def remaining_ms(self, submitted_ns, budget_ms):
        return budget_ms - self.elapsed_ms(submitted_ns)

    async def publish(self, channel, subject, message, message_id):
        return self._store(channel, subject, message, message_id)

    async def publish_all(self, publications):
        return [self._store(p.channel, p.subject, p.message, p.message_id) for p in publications]

    def _store(self, channel, subject, message, message_id):
        if channel.name == self.refuses:
            raise PublishRefusedError(f"{channel.name} is full")
        if channel.name == self.too_large:
            raise TooLargeError(f"{channel.name} has 2000000 bytes")
        if self.crash_after is not None and len(self.order) >= self.crash_after:
            raise CrashError
        key = (channel.stream, message_id)
        duplicate = key in self.stored
        if not duplicate:
            self.stored[key] = (subject, message)
            self.order.append(channel.name)
        return Stored(duplicate)

    async def last(self, stream, subject):
        return None

    async def send(self, *_):
        raise AssertionError("nothing is sent without storage")

    def on(self, channel):
        return [row for (stream, _), row in self.stored.items() if stream == channel.stream and channel.stream]


@pytest.fixture
def bus():
    return FakeBus()


@pytest.fixture
def handlers(bus):
    return build_handlers(bus)


def build_handlers(bus, cards=(), unhealthy=frozenset(), absent=frozenset()):
    context: Any = SimpleNamespace(
        bus=bus,
        corpora=SimpleNamespace(
            of_tenant=lambda tenant: tuple(card for card in cards if card.tenant == tenant), revision=7
        ),
        backends=SimpleNamespace(unhealthy=unhealthy, revision=3),
        pools=SimpleNamespace(look=lambda kind, pool: PoolLook(absent=(kind, pool) in absent)),
        metrics=Metrics(),
        config=FanfuseConfig(),
        tracer=trace.NoOpTracer(),
    )
    return RouterHandlers(context)


def delivered(event=None, subject=None, data=b""):
    return SimpleNamespace(
        tenant=TENANT,
        query_id=QUERY,
        subject=subject or subjects.query_classified(TENANT, QUERY),
        data=event.to_json() if event is not None else data,
        held_ms=lambda: 2.0,
    )


async def handle(handlers, event):
    await handlers.on_query_classified(delivered(event), event)


def the(bus, channel, model):
    rows = bus.on(channel)
    assert len(rows) == 1, rows
    subject, message = rows[0]
    assert isinstance(message, model)
    return subject, message


async def test_commands_come_first_then_the_plan_then_the_audit(build, bus):
    await handle(build_handlers(bus, [build.card("a")]), build.event())
    assert bus.order == ["retrieve"] * 3 + ["query_planned", "audit"]


async def test_each_command_goes_to_the_pool_of_its_lane(build, bus):
    card = build.card("a", backends=(build.wiring("vector", pool="hot"), build.wiring("keyword", "eu")))
    await handle(build_handlers(bus, [card]), build.event())
    assert sorted(subject for subject, _ in bus.on(flow.RETRIEVE)) == [
        subjects.retrieve(Kind.KEYWORD, "eu", TENANT, "a"),
        subjects.retrieve(Kind.VECTOR, "hot", TENANT, "a"),
    ]


async def test_the_plan_carries_query_classification_and_hops(build, bus):
    bus.now = 1_040_000_000
    event = build.event()
    await handle(build_handlers(bus, [build.card("a")]), event)
    subject, planned = the(bus, flow.PLANNED, QueryPlanned)
    assert subject == subjects.query_planned(TENANT, QUERY)
    assert (planned.query, planned.classification) == (event.query, event.classification)
    assert (planned.submitted_ns, planned.hops[-1].stage) == (event.submitted_ns, Stage.CORPUS_ROUTER)
    assert planned.hops[-1].at_ms == 40.0
    assert QueryPlanned.from_json(planned.to_json()) == planned


async def test_tenant_and_query_id_come_from_the_subject_not_from_the_payload(build, bus):
    lying = build.event(tenant="globex").model_copy(update={"query_id": "other"})
    cards = [build.card("a"), build.card("a", tenant="globex")]
    await handle(build_handlers(bus, cards), lying)
    for _, message in bus.stored.values():
        assert (message.tenant, message.query_id) == (TENANT, QUERY)
    assert all(subject.split(".")[-2] == TENANT for subject, _ in bus.on(flow.RETRIEVE))


async def test_the_audit_says_who_asked_and_what_was_decided(build, bus):
    await handle(build_handlers(bus, [build.card("a")]), build.event(principal={"id": "bob"}))
    subject, audited = the(bus, flow.AUDITED, RouteAudited)
    assert subject == subjects.audit(TENANT)
    assert (audited.principal, audited.rejection) == ("bob", None)
    assert audited.plan == the(bus, flow.PLANNED, QueryPlanned)[1].plan


async def test_an_unknown_tenant_is_refused_and_no_backend_hears_of_it(build, bus, handlers):
    """TEN-06: fail closed, no command, a reason."""
    await handle(handlers, build.event())
    assert bus.order == ["query_fused", "audit"]
    answer = the(bus, flow.FUSED, Answer)[1]
    assert answer.status is Status.REJECTED
    assert answer.rejection.code is RejectionCode.NO_VISIBLE_CORPUS
    assert the(bus, flow.AUDITED, RouteAudited)[1].rejection == answer.rejection


async def test_a_spent_budget_is_answered_expired_without_commands(build, bus):
    bus.now = 1_000_000_000 + 500 * 1_000_000
    await handle(build_handlers(bus, [build.card("a")]), build.event(budget_ms=500))
    assert bus.order == ["query_fused", "audit"]
    answer = the(bus, flow.FUSED, Answer)[1]
    assert (answer.status, answer.elapsed_ms) == (Status.EXPIRED, 500.0)
    assert answer.rejection.stage is Stage.CORPUS_ROUTER


@pytest.mark.parametrize("channel", ["retrieve", "query_planned"])
async def test_a_full_stream_is_told_to_the_caller_as_overloaded(build, bus, channel):
    bus.refuses = channel
    await handle(build_handlers(bus, [build.card("a")]), build.event())
    rejection = the(bus, flow.FUSED, Answer)[1].rejection
    assert (rejection.code, rejection.retryable) == (RejectionCode.OVERLOADED, True)


async def test_a_command_too_large_to_send_is_told_to_the_caller(build, bus):
    bus.too_large = "retrieve"
    await handle(build_handlers(bus, [build.card("a")]), build.event())
    rejection = the(bus, flow.FUSED, Answer)[1].rejection
    assert (rejection.code, rejection.retryable) == (RejectionCode.TOO_LARGE, False)


async def test_a_failing_audit_is_retried_and_refuses_nothing(build, bus):
    bus.refuses = "audit"
    handlers = build_handlers(bus, [build.card("a")])
    with pytest.raises(PublishRefusedError):
        await handle(handlers, build.event())
    assert bus.on(flow.FUSED) == []
    bus.refuses = None
    await handle(handlers, build.event())
    assert bus.order == ["retrieve"] * 3 + ["query_planned", "audit"]


async def test_a_redelivery_sends_nothing_twice_and_counts_the_duplicates(build, bus):
    handlers = build_handlers(bus, [build.card("a")])
    await handle(handlers, build.event())
    before = list(bus.order)
    await handle(handlers, build.event())
    assert bus.order == before
    text = handlers._metrics.exposition().decode()
    assert f'{metrics.DUPLICATES_TOTAL.name}{{stage="corpus-router"}} 5.0' in text


@pytest.mark.parametrize("crash_after", range(6))
def test_whatever_crashes_and_changes_every_planned_lane_has_its_command(build, crash_after):
    """JOI-05, the router's side: the first stored plan wins, and no lane of it waits for a command never sent."""
    backends = st.lists(
        st.tuples(st.sampled_from(list(Kind)), st.sampled_from(("x", "y"))), min_size=1, max_size=4, unique=True
    )
    worlds = st.tuples(
        st.dictionaries(st.sampled_from(("a", "b")), backends, min_size=1),
        st.frozensets(st.tuples(st.sampled_from(list(Kind)), st.sampled_from(("x", "y"))), max_size=3),
    )

    @settings(deadline=None, max_examples=40)
    @given(worlds, worlds)
    def check(first, second):
        bus = FakeBus(crash_after=crash_after)
        run(build, bus, first)
        bus.crash_after = None
        run(build, bus, second)
        assert_sound(bus)

    check()


def run(build, bus, world):
    wired, unhealthy = world
    cards = [build.card(name, backends=tuple(build.wiring(*row) for row in rows)) for name, rows in wired.items()]
    handlers, event = build_handlers(bus, cards, unhealthy), build.event()
    coroutine = handlers.on_query_classified(delivered(event), event)
    try:
        coroutine.send(None)
    except (StopIteration, CrashError):
        return
    raise AssertionError("the fake bus never waits")


def assert_sound(bus):
    commands = [command for _, command in bus.on(flow.RETRIEVE)]
    by_lane = {command.lane: command for command in commands}
    assert len(by_lane) == len(commands)
    plans = [message.plan for _, message in bus.on(flow.PLANNED)]
    assert len(plans) + len(bus.on(flow.FUSED)) >= 1
    for lane in (lane for plan in plans for lane in plan.lanes):
        command = by_lane[lane.name]
        assert isinstance(command, RetrieveCommand)
        assert (command.corpus, command.kind, command.backend) == (lane.corpus, lane.kind, lane.backend)
        assert (command.filter_digest, command.window) == (lane.filter_digest, lane.window)


async def test_decide_tells_the_same_plan_bytes_as_the_flow_and_does_nothing(build, bus):
    handlers = build_handlers(bus, [build.card("a"), build.card("b")], unhealthy=frozenset({(Kind.VECTOR, "main")}))
    event = build.event(scores=(build.score("a", 1.0), build.score("b", 2.0)))
    reply = await handlers.on_route_decide(delivered(event, subjects.route_decide(TENANT)), event)
    assert bus.order == []
    await handle(handlers, event)
    planned = the(bus, flow.PLANNED, QueryPlanned)[1]
    assert reply.plan.to_json() == planned.plan.to_json()
    assert (reply.rejection, reply.classification) == (None, event.classification)
    assert (reply.registry_revision, reply.health_version) == (7, 3)


async def test_decide_tells_a_rejection_and_takes_the_tenant_from_the_subject(build, bus, handlers):
    lying = build.event(tenant="globex")
    reply = await build_handlers(bus, [build.card("a", tenant="globex")]).on_route_decide(
        delivered(lying, subjects.route_decide(TENANT)), lying
    )
    assert (reply.plan, reply.rejection.code) == (None, RejectionCode.NO_VISIBLE_CORPUS)
    assert bus.order == []


@pytest.mark.parametrize("refused", ["rejected", "clarify", "hopeless"])
async def test_an_answer_without_retrieval_carries_the_hops_up_to_here(build, bus, refused):
    earlier = Hop(stage=Stage.CLASSIFIER, at_ms=1.5, took_ms=0.5)
    event = build.event(scores=(build.asks("a", "x"),)).model_copy(update={"hops": (earlier,)})
    cards = [build.card("a", can_answer=(build.capability("x", who="re:nobody"),))] if refused == "clarify" else []
    handlers = build_handlers(bus, cards)
    if refused == "hopeless":
        await handlers.on_failed(delivered(event), Rejection(code=RejectionCode.INTERNAL, message="broken"))
    else:
        await handle(handlers, event)
    answer = the(bus, flow.FUSED, Answer)[1]
    assert (answer.clarification is not None) == (refused == "clarify")
    assert [hop.stage for hop in answer.hops] == [Stage.CLASSIFIER, Stage.CORPUS_ROUTER]
    assert answer.hops[0] == earlier
    assert answer.hops[1].took_ms >= 0.0


@pytest.mark.parametrize("readable", [True, False])
async def test_a_hopeless_message_is_answered(build, bus, handlers, readable):
    rejection = Rejection(code=RejectionCode.INTERNAL, message="broken")
    delivery = delivered(build.event()) if readable else delivered(data=b"{")
    await handlers.on_failed(delivery, rejection)
    answer = the(bus, flow.FUSED, Answer)[1]
    assert (answer.tenant, answer.query_id, answer.rejection) == (TENANT, QUERY, rejection)
    assert answer.submitted_ns == (1_000_000_000 if readable else 0)


async def test_everything_published_is_json_within_its_model(build, bus):
    await handle(
        build_handlers(bus, [build.card("a")]), build.event(vector={"model": "mini", "values": (0.5, 0.5, 0.5)})
    )
    for _, message in bus.stored.values():
        assert type(message).from_json(message.to_json()) == message
        json.loads(message.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_message_ids_are_those_of_the_contract(build, bus):
    handlers = build_handlers(bus, [build.card("a", kinds=("keyword",))])
    event = build.event()
    with pytest.raises(StopIteration):
        handlers.on_query_classified(delivered(event), event).send(None)
    lane = the(bus, flow.PLANNED, QueryPlanned)[1].plan.lanes[0].name
    assert {message_id for _, message_id in bus.stored} == {
        streams.message_id(TENANT, QUERY, "corpus-router", lane),
        streams.message_id(TENANT, QUERY, "corpus-router", submitted_ns=event.submitted_ns),
        streams.message_id(TENANT, QUERY, "corpus-router"),
    }, "the last is that of the audit, in a stream that no tenant writes to"


REFUND = Capability(name="refund", match_any=("refund",), required=(Argument(name="order", pattern="[0-9]{6}"),))


def unclear(build):
    """An event whose one corpus is asked for a refund, without the order's number; and its card."""
    row = build.score("a", 1.0, boost="money").model_copy(
        update={"asked": (AskedCapability(capability="refund", matched=("refund",)),)}
    )
    return build.event(scores=(row,)), build.card("a", can_answer=(REFUND,))


async def test_a_question_back_is_the_answer_and_no_backend_hears_of_the_query(build, bus):
    event, card = unclear(build)
    handlers = build_handlers(bus, [card])
    await handle(handlers, event)
    assert bus.order == ["query_fused", "audit"]
    answer = the(bus, flow.FUSED, Answer)[1]
    assert (answer.status, answer.rejection, answer.hits) == (Status.CLARIFY, None, ())
    assert [(one.corpus, one.argument) for one in answer.clarification.missing] == [("a", "order")]
    audited = the(bus, flow.AUDITED, RouteAudited)[1]
    assert (audited.plan, audited.clarification, audited.rejection) == (None, answer.clarification, None)
    counted = f'{metrics.QUERIES_TOTAL.name}{{status="clarify",tenant_class="other"}} 1.0'
    assert counted in handlers._metrics.exposition().decode()


async def test_decide_tells_a_question_back(build, bus):
    event, card = unclear(build)
    reply = await build_handlers(bus, [card]).on_route_decide(delivered(event, subjects.route_decide(TENANT)), event)
    assert bus.order == []
    assert (reply.plan, reply.rejection) == (None, None)
    assert reply.clarification.missing[0].argument == "order"


async def test_the_audit_of_a_plan_names_the_rules_that_fired(build, bus):
    event = build.event(scores=(build.score("a", 1.0, boost="money"), build.score("b", 1.0, exclude="no-b")))
    await handle(build_handlers(bus, [build.card("a"), build.card("b")]), event)
    scores = the(bus, flow.AUDITED, RouteAudited)[1].plan.corpus_decision.scores
    assert [(row.corpus, row.boosted_by, row.excluded_by) for row in scores] == [
        ("a", ("money",), ()),
        ("b", (), ("no-b",)),
    ]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("plan", {"strategy", "candidate_n", "selected_n", "fan_out", "selected", "results_n", "elapsed_ms"}),
        ("clarification", {"clarify", "elapsed_ms"}),
        ("rejection", {"rejected", "elapsed_ms"}),
    ],
)
async def test_the_span_tells_each_outcome_by_its_own_attributes(build, outcome, expected):
    event, card = unclear(build)
    found = {
        "plan": build.plan(build.event(), build.card("a")),
        "clarification": build.ask_back(event, card),
        "rejection": build.refuse(build.event()),
    }[outcome]
    said = narration.attributes(found, 1.23456)
    assert said.keys() == {f"rag.corpus_route.{name}" for name in expected}
    assert said["rag.corpus_route.elapsed_ms"] == 1.235
    if outcome == "plan":
        assert (said["rag.corpus_route.results_n"], said["rag.corpus_route.selected"]) == (3, ("a",))
