"""The running classifier answers whatever is published as a query, and goes on (CLS-01, CLS-03, CLS-06, CLS-07).

1,000 bodies on a real server: each yields one `query.classified` or one typed rejection. None is delivered again, and
nothing that the contract takes becomes a dead letter.
"""

import asyncio
import base64
import urllib.request
from collections import Counter

from fanfuse_classifier.service import build
from fanfuse_contracts import streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import RejectionCode, Shape, Status
from fanfuse_contracts.headers import MESSAGE_ID
from fanfuse_contracts.operations import DeadLetter
from fanfuse_contracts.pressure import PressureConfig
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.compose import compose
from fanfuse_runtime.settings import RuntimeSettings
from tests.bus.classifier.asking import classified, decide, holds, messages, register, submit
from tests.bus.classifier.fuzzing import COUNT, bodies, is_good

AT_ONCE = 25
CARD = CorpusCard(tenant="acme", corpus="docs", public=True, term_weights={"中": 1.0, "a": 0.5})
REFUSED = {
    RejectionCode.INVALID_QUERY,
    RejectionCode.TOO_LARGE,
    RejectionCode.EMPTY_QUERY,
    RejectionCode.UNAUTHENTICATED,
}


class Outcomes:
    """What became of each query: its events, as they are published."""

    def __init__(self):
        self.events = {}
        self._told = asyncio.Condition()

    async def listen(self, client):
        """Hear every classified query and every answer of the tenant."""
        await client.subscribe(subjects.query_classified("acme", "x").removesuffix("x") + "*", cb=self._hear)
        await client.subscribe(subjects.query_answered("acme", "x").removesuffix("x") + "*", cb=self._hear)
        await client.flush()

    async def _hear(self, message):
        async with self._told:
            self.events.setdefault(message.subject.rpartition(".")[2], []).append(message)
            self._told.notify_all()

    async def of(self, query_ids):
        """Wait until each of these queries has an outcome."""
        async with asyncio.timeout(30), self._told:
            await self._told.wait_for(lambda: all(query_id in self.events for query_id in query_ids))


async def publish_all(client, outcomes):
    numbered = list(enumerate(bodies()))
    for first in range(0, COUNT, AT_ONCE):
        some = numbered[first : first + AT_ONCE]
        await asyncio.gather(*(submit(client, f"q{number}", body) for number, body in some))
        await outcomes.of([f"q{number}" for number, _ in some])


def judge(body, heard):
    """Name the one outcome of a body; raises AssertionError where it is not the outcome it must have."""
    # What a busy machine is given twice is told twice, under the one id by which it is stored once.
    ids = {message.headers[MESSAGE_ID] for message in heard}
    assert len(ids) == 1, f"{ids} are the outcomes of {body[:200]!r}"
    if ".classified." in heard[0].subject:
        event = QueryClassified.from_json(heard[0].data)
        assert event.query.model_dump() == SubmittedQuery.from_json(body).model_dump()
        assert event.classification.shape in Shape
        assert event.classification.reason
        assert is_good(body)
        return "classified"
    answer = Answer.from_json(heard[0].data)
    assert answer.rejection is not None
    if answer.status is Status.EXPIRED:
        return "expired"
    assert answer.status is Status.REJECTED
    assert answer.rejection.code in REFUSED
    assert answer.rejection.message
    assert not is_good(body), f"{answer.rejection} for {body[:200]!r}"
    return answer.rejection.code.value


async def test_a_thousand_fuzzed_bodies_each_have_one_outcome(nats_server, client, say):
    """CLS-07: controls, lone surrogates, bytes that are no text. CLS-01: blank ones are refused."""
    settings = RuntimeSettings(nats_url=nats_server.url, ops_port=0)
    # Nobody plans here, so what enters stays: no ceiling for the tenant.
    config = FanfuseConfig(pressure=PressureConfig(tenant_in_flight=0))
    async with compose(build, settings=settings, config=config) as process:
        await register(client, process, CARD)
        outcomes = Outcomes()
        await outcomes.listen(client)
        await publish_all(client, outcomes)
        ends = Counter(judge(body, outcomes.events[f"q{number}"]) for number, body in enumerate(bodies()))
        say(f"fuzzed bodies through the classifier: {dict(ends.most_common())}")

        await everything_is_settled(client, refused=ends["invalid_query"] + ends["too_large"])
        assert ends["classified"] > COUNT / 10
        assert await stored_classified(client) == Counter({1: ends["classified"]})
        assert min(ends[code] for code in ("invalid_query", "too_large", "empty_query")) > 5
        await still_serves(client, process)


async def everything_is_settled(client, refused):
    """No query waits or comes again; only what can't be read is a dead letter."""
    spec = streams.CLASSIFIER_CONSUMER
    assert await holds(client, "DEADLETTER", refused)
    for _ in range(100):
        info = await client.jetstream().consumer_info(spec.stream, spec.durable)
        if not (info.num_pending or info.num_ack_pending):
            break
        await asyncio.sleep(0.05)
    assert (info.num_pending, info.num_ack_pending, info.num_redelivered) == (0, 0, 0)
    assert not [payload for payload in await dead_letters(client) if is_good(payload)]


async def stored_classified(client):
    """How many queries are stored as classified how often."""
    subject = subjects.query_classified_of("acme")
    info = await client.jetstream().stream_info(streams.QUERIES.name, subjects_filter=subject)
    return Counter((info.state.subjects or {}).values())


async def dead_letters(client):
    """The bodies that were kept for operators."""
    count = await messages(client, "DEADLETTER")
    stored = [await client.jetstream().get_msg("DEADLETTER", sequence) for sequence in range(1, count + 1)]
    return [base64.b64decode(DeadLetter.from_json(letter.data).payload_base64) for letter in stored]


async def still_serves(client, process):
    ready = f"http://127.0.0.1:{process.ops.port}/readyz"
    assert await asyncio.to_thread(lambda: urllib.request.urlopen(ready, timeout=5).status) == 200
    await submit(client, "good", SubmittedQuery(text="What is RAG?").to_json())
    event = await classified(client, "good")

    assert event.classification.shape is Shape.SEMANTIC


async def test_fuzzed_requests_for_a_decision_are_answered_in_words(process, client):
    for body in bodies()[::10]:
        reply = await decide(client, b'{"query":' + body + b"}")

        assert reply.rejection is not None, "no router runs here"
        assert reply.rejection.code in REFUSED | {RejectionCode.UNAVAILABLE}
        assert reply.rejection.message
