"""Signed principals through the running classifier: what reaches the router, and what becomes of everything else."""

import base64
import json
import time

import jwt
import nats
import pytest
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fanfuse_classifier.domain.classify import classify
from fanfuse_classifier.service import build
from fanfuse_contracts import subjects
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, RejectionCode, Status
from fanfuse_contracts.headers import MESSAGE_ID, PRINCIPAL
from fanfuse_contracts.plan import DecideReply, DecideRequest
from fanfuse_contracts.query import Principal, SubmittedQuery
from fanfuse_corpus_router.service import build as build_router
from fanfuse_runtime.compose import compose
from fanfuse_runtime.logs import configure_logs
from fanfuse_runtime.settings import RuntimeSettings
from tests.bus.classifier.asking import answered, classified, decide, holds, messages, register, submit

ACME, GLOBEX = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))
ALICE = Principal(id="alice", roles=frozenset({"hr"}))
QUERY = SubmittedQuery(text="holiday", budget_ms=30_000)


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def public(key):
    return encoded(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def sign(key=ACME, kid="k1", **changes):
    now = int(time.time())
    claims = {"sub": "alice", "roles": ["hr"], "aud": "fanfuse:acme", "iat": now, "exp": now + 600} | changes
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": kid})


def settings(nats_server, folder, required=False):
    file = folder / "fanfuse.yaml"
    keys = {
        "acme": [{"kid": "k1", "public_key": public(ACME)}],
        "globex": [{"kid": "k1", "public_key": public(GLOBEX)}],
    }
    file.write_text(json.dumps({"security": {"require_signed_principal": required, "principal_keys": keys}}))
    return RuntimeSettings(nats_url=nats_server.url, config_file=file)


@pytest.fixture
async def process(nats_server, tmp_path):
    async with compose(build, settings=settings(nats_server, tmp_path)) as running:
        yield running


async def test_the_router_hears_the_principal_of_the_token(process, client):
    for query_id, query in {"q1": QUERY, "q2": QUERY.model_copy(update={"principal": ALICE})}.items():
        await submit(client, query_id, query.to_json(), headers={PRINCIPAL: sign()})

        heard = (await classified(client, query_id)).query
        assert heard.model_dump() == QUERY.model_dump() | {"principal": ALICE.model_dump()}


async def test_decide_hears_it_too(process, client):
    asked = []

    async def router(msg):
        asked.append(msg)
        await msg.respond(DecideReply().to_json())

    await client.subscribe(subjects.route_decide("acme"), cb=router)
    await decide(client, DecideRequest(query=QUERY).to_json(), headers={PRINCIPAL: sign()})

    assert QueryClassified.from_json(asked[0].data).query.principal == ALICE
    assert PRINCIPAL not in (asked[0].headers or {})


def public_as_secret():
    signed = f"{encoded(json.dumps({'alg': 'HS256', 'kid': 'k1'}).encode())}.{encoded(b'{}')}"
    return f"{signed}.{encoded(b'x' * 32)}"


REFUSED = {
    "none": (lambda: jwt.encode({}, "", algorithm="none", headers={"kid": "k1"}), "alg is not EdDSA"),
    "hs256": (public_as_secret, "alg is not EdDSA"),
    "kid": (lambda: sign(kid="k2"), "kid is not among"),
    "other-tenant": (lambda: sign(GLOBEX), "signature is not that"),
    "expired": (lambda: sign(iat=1, exp=2), "expired"),
    "early": (lambda: sign(nbf=int(time.time()) + 300), "not valid yet"),
    "audience": (lambda: sign(aud="fanfuse:globex"), "aud is not 'fanfuse:acme'"),
    "too-long": (lambda: sign(exp=int(time.time()) + 200_000), "longer than 24 hours"),
    "roles": (lambda: sign(roles="hr"), "roles are not a list"),
    "too-large": (lambda: sign(more="x" * 40_000), "at most 8192 are read"),
    "blank": (lambda: "", "no compact JWT"),
    "other-principal": (lambda: sign(sub="bob"), "another principal"),
}


async def test_every_bad_token_is_refused_in_words_and_the_service_lives(process, client):
    """TEN-04: also the token of another tenant, under the same kid."""
    body = QUERY.model_copy(update={"principal": ALICE}).to_json()
    for name, (make, why) in REFUSED.items():
        await submit(client, name, body, headers={PRINCIPAL: make()})
        answer = await answered(client, name)
        assert (answer.status, answer.rejection.code) == (Status.REJECTED, RejectionCode.UNAUTHENTICATED), name
        assert why in answer.rejection.message
        assert not answer.rejection.retryable
    await submit(client, "good", body, headers={PRINCIPAL: sign()})
    await classified(client, "good")

    assert await messages(client, "DEADLETTER") == 0
    assert await holds(client, "QUERIES", 1), "only what is passed on waits for the router"


async def test_decide_refuses_them_as_well(process, client):
    body = DecideRequest(query=QUERY.model_copy(update={"principal": ALICE})).to_json()
    for make, why in REFUSED.values():
        reply = await decide(client, body, headers={PRINCIPAL: make()})

        assert reply.rejection.code is RejectionCode.UNAUTHENTICATED
        assert why in reply.rejection.message
        assert reply.classification is None


async def test_a_token_of_a_megabyte_is_not_accepted_at_all(process, client):
    """By the stream; where no stream is, by the classifier."""
    token = sign(more="x" * 700_000)
    with pytest.raises(nats.js.errors.BadRequestError, match="header size"):
        await submit(client, "q1", QUERY.to_json(), headers={PRINCIPAL: token})
    reply = await decide(client, DecideRequest(query=QUERY).to_json(), headers={PRINCIPAL: token})

    assert "at most 8192 are read" in reply.rejection.message
    assert await messages(client, "QUERIES") == 0


async def test_a_tenant_without_keys_takes_no_token(process, client):
    body = DecideRequest(query=QUERY).to_json()
    reply = await decide(client, body, tenant="initech", headers={PRINCIPAL: sign(aud="fanfuse:initech")})

    assert reply.rejection.code is RejectionCode.UNAUTHENTICATED


async def test_a_query_is_judged_by_the_time_at_which_the_broker_stored_it(process, client, monkeypatch):
    """However long it waited, and whatever this machine's clock says; `decide` is judged now."""
    bus = process.context.bus
    later = bus.now_ns() + 3_600 * 10**9
    monkeypatch.setattr(bus, "now_ns", lambda: later)
    monkeypatch.setattr(bus, "remaining_ms", lambda submitted_ns, budget_ms: 1_000.0)
    await submit(client, "q1", QUERY.to_json(), headers={PRINCIPAL: sign()})
    reply = await decide(client, DecideRequest(query=QUERY).to_json(), headers={PRINCIPAL: sign()})

    assert (await classified(client, "q1")).query.principal == ALICE
    assert "expired" in reply.rejection.message


async def test_where_signatures_are_required_nobodys_word_counts(nats_server, client, tmp_path):
    """TEN-06: whoever states nothing is passed on as nobody in particular."""
    async with compose(build, settings=settings(nats_server, tmp_path, required=True)):
        await submit(client, "stated", QUERY.model_copy(update={"principal": ALICE}).to_json())
        await submit(client, "nobody", QUERY.to_json())
        await submit(client, "signed", QUERY.to_json(), headers={PRINCIPAL: sign()})
        refused = await answered(client, "stated")

        assert refused.rejection.code is RejectionCode.UNAUTHENTICATED
        assert "a token is missing" in refused.rejection.message
        assert (await classified(client, "nobody")).query.principal is None
        assert (await classified(client, "signed")).query.principal == ALICE


async def test_the_router_shows_what_the_signed_roles_may_read(nats_server, client, tmp_path):
    """With the real router behind: without the token the corpus does not exist."""
    wired = (Wiring(kind=Kind.KEYWORD, backend="main", pool="main"),)
    card = CorpusCard(tenant="acme", corpus="staff", readers=frozenset({"hr"}), backends=wired)
    body = DecideRequest(query=QUERY.model_copy(update={"corpora": ("staff",)})).to_json()
    async with compose(build, build_router, settings=settings(nats_server, tmp_path)) as process:
        await register(client, process, card)
        stranger = await decide(client, body)
        other = await decide(client, body, headers={PRINCIPAL: sign(roles=["sales"])})
        signed = await decide(client, body, headers={PRINCIPAL: sign()})

    unseen = {RejectionCode.UNKNOWN_CORPUS, RejectionCode.NO_VISIBLE_CORPUS}
    assert stranger.rejection.code in unseen
    assert other.rejection.code in unseen
    seen = signed.plan.corpus_decision.selected_corpora if signed.plan else signed.rejection.message
    assert "staff" in seen


# -- where a token may be found afterwards --------------------------------------------------------------------------


class Witness:
    """Everything that is said on the bus, but for what callers themselves say; it answers for the router."""

    def __init__(self):
        self.heard = []

    async def hear(self, msg):
        if not msg.subject.startswith((subjects.query_submitted("acme", "x")[:-1], subjects.query_decide("acme"))):
            self.heard.append((msg.subject, msg.data, msg.headers))
        if msg.subject == subjects.route_decide("acme"):
            await msg.respond(DecideReply().to_json())


async def everything_stored(client):
    js = client.jetstream()
    found = []
    for info in await js.streams_info():
        for sequence in range(max(1, info.state.first_seq), info.state.last_seq + 1):
            try:
                message = await js.get_msg(info.config.name, sequence)
            except nats.js.errors.NotFoundError:
                continue
            found.append((message.subject, message.data, message.headers))
    return found


@pytest.fixture
def everything_is_logged():
    """Down to debug, to standard error, as a process does it."""
    before = structlog.get_config()
    configure_logs("debug")
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("everything_is_logged")
async def test_a_token_is_found_nowhere_afterwards(nats_server, client, tmp_path, monkeypatch, capfd):
    """In no event, answer, dead letter, log, span or metric, whatever becomes of its query."""
    monkeypatch.setattr("fanfuse_contracts.limits.RETRY_DELAYS_S", (0.01,))
    exporter, witness = InMemorySpanExporter(), Witness()
    tokens = {name: make() for name, (make, _) in REFUSED.items() if name != "blank"}
    tokens |= {"passed": sign(jti="passed"), "unreadable": sign(jti="unreadable"), "raises": sign(jti="raises")}
    bodies = {"unreadable": b"{", "raises": SubmittedQuery(text="raise", budget_ms=30_000).to_json()}

    def faulty(query, *rest):
        if query.text == "raise":
            raise RuntimeError(f"bug with {query}")
        return classify(query, *rest)

    monkeypatch.setattr("fanfuse_classifier.bus.classify", faulty)
    processor = SimpleSpanProcessor(exporter)
    async with compose(build, settings=settings(nats_server, tmp_path), span_processor=processor) as process:
        await client.subscribe(">", cb=witness.hear)
        body = QUERY.model_copy(update={"principal": ALICE}).to_json()
        for name, token in tokens.items():
            headers = {PRINCIPAL: token, MESSAGE_ID: f"acme.{name}.submitted.0"}
            await submit(client, name, bodies.get(name, body), headers=headers)
            await decide(client, bodies.get(name, b'{"query": %s}' % body), headers={PRINCIPAL: token})
        assert (await answered(client, "raises")).rejection.code is RejectionCode.INTERNAL
        assert (await answered(client, "unreadable")).rejection.code is RejectionCode.INVALID_QUERY
        assert await holds(client, "DEADLETTER", 2)
        assert await holds(client, "QUERIES", 1)
        traces = [span.to_json() for span in exporter.get_finished_spans()]
        exported = process.metrics.exposition()
    written = capfd.readouterr()

    said = repr((witness.heard, await everything_stored(client), traces, exported, written.out, written.err))
    assert len(witness.heard) > len(tokens)
    assert len(traces) >= len(tokens)
    assert "bug with" in said, "the log of the failure is among what is searched"
    for token in tokens.values():
        for part in token.split(".")[1:]:
            assert len(part) < 20 or part not in said
