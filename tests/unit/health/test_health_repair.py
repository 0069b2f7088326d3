"""What the janitor does with a lost message, as data."""

import pytest

from fanfuse_contracts import streams, subjects
from fanfuse_contracts.enums import FailureKind, Kind, LaneOutcome, RejectionCode, Stage
from fanfuse_contracts.plan import RetrieveCommand
from fanfuse_contracts.query import Progress
from fanfuse_health.domain.repair import MaxDeliveries, is_ours, repair, stage_of
from fanfuse_health.domain.sweep import LOST_AFTER_S, Sighting, stuck

COMMAND = RetrieveCommand(
    tenant="acme", query_id="q1", lane="docs-vector", corpus="docs", kind=Kind.VECTOR, backend="main", text="hello",
    window=10, filter_digest="0" * 16, submitted_ns=5, budget_ms=2_000, attempt=3,
)  # fmt: skip


def test_the_servers_advisory_is_read_and_its_other_fields_ignored():
    advisory = MaxDeliveries.from_json(
        b'{"type":"io.nats.jetstream.advisory.v1.max_deliver","id":"x","timestamp":"2025-01-01T00:00:00Z",'
        b'"stream":"QUERIES","consumer":"fuser","stream_seq":12,"deliveries":5}'
    )
    assert (advisory.stream, advisory.consumer, advisory.stream_seq, advisory.deliveries) == ("QUERIES", "fuser", 12, 5)


@pytest.mark.parametrize(
    ("durable", "stage"),
    [
        ("classifier", Stage.CLASSIFIER),
        ("corpus-router", Stage.CORPUS_ROUTER),
        ("fuser", Stage.FUSER),
        (streams.pool_consumer(Kind.GRAPH, "main").durable, Stage.BACKEND_WORKERS),
        ("janitor", None),
        ("somebody-elses", None),
    ],
)
def test_a_durable_names_its_stage(durable, stage):
    assert stage_of(durable) is stage


def test_only_work_queues_are_cleaned():
    def of(stream):
        return MaxDeliveries(stream=stream, consumer="fuser", stream_seq=1)

    assert [is_ours(of(spec.name)) for spec in streams.STREAMS] == [
        spec.name in {"QUERIES", "RETRIEVE"} for spec in streams.STREAMS
    ]


def test_a_submitted_query_is_answered_from_its_subject_whatever_its_body():
    todo = repair(Stage.CLASSIFIER, subjects.query_submitted("acme", "q1"), b"\xff not json", 77, "health-1")
    assert todo.query is not None
    assert (todo.query.tenant, todo.query.query_id, todo.query.progress) == ("acme", "q1", Progress(submitted_ns=77))
    assert (todo.query.rejection.code, todo.query.rejection.retryable) == (RejectionCode.INTERNAL, True)
    assert todo.reply is None


@pytest.mark.parametrize(
    ("data", "submitted_ns", "stages"),
    [
        (b'{"submitted_ns": 5, "more": 1}', 5, []),
        (b'{"submitted_ns": 5, "hops": [{"stage": "classifier", "at_ms": 1, "took_ms": 1}]}', 5, [Stage.CLASSIFIER]),
        (b"broken", 77, []),
        (b"{}", 77, []),
    ],
)
def test_a_later_event_knows_when_its_query_was_submitted_and_who_had_it(data, submitted_ns, stages):
    todo = repair(Stage.FUSER, subjects.query_planned("acme", "q1"), data, 77, "health-1")
    assert todo.query is not None
    assert todo.query.progress.submitted_ns == submitted_ns
    assert [hop.stage for hop in todo.query.progress.hops] == stages


def test_a_subject_without_a_valid_owner_is_answered_to_nobody():
    assert repair(Stage.CLASSIFIER, "fanfuse.v1.query.submitted.ACME.q1", b"{}", 1, "h").query is None


def test_a_lost_command_becomes_a_failed_lane():
    todo = repair(
        Stage.BACKEND_WORKERS, subjects.retrieve(Kind.VECTOR, "main", "acme", "docs"), COMMAND.to_json(), 1, "h"
    )
    assert (todo.query, todo.attempt) == (None, 3)
    assert todo.reply is not None
    assert (todo.reply.tenant, todo.reply.query_id, todo.reply.lane) == ("acme", "q1", "docs-vector")
    assert todo.reply.outcome is LaneOutcome.FAILED
    assert todo.reply.failure is not None
    assert todo.reply.failure.kind is FailureKind.UNAVAILABLE


def test_a_command_on_another_tenants_subject_is_replied_to_nobody():
    subject = subjects.retrieve(Kind.VECTOR, "main", "globex", "docs")
    assert repair(Stage.BACKEND_WORKERS, subject, COMMAND.to_json(), 1, "h").reply is None


def test_an_undecodable_command_is_replied_to_nobody():
    subject = subjects.retrieve(Kind.VECTOR, "main", "acme", "docs")
    assert repair(Stage.BACKEND_WORKERS, subject, b"{", 1, "h").reply is None


@pytest.mark.parametrize(
    ("sequence", "age_s", "expected"),
    [(9, LOST_AFTER_S + 1, True), (10, LOST_AFTER_S + 1, True), (11, LOST_AFTER_S + 1, False), (9, 100.0, False)],
)
def test_a_message_is_lost_when_it_was_delivered_a_sweep_ago_and_its_budget_is_over(sequence, age_s, expected):
    assert stuck(sequence, 0, Sighting(10), int(age_s * 1e9)) == expected
