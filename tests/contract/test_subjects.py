"""Subjects: one token grammar, checked before any subject is built (TEN-04); streams and consumers fit the subjects."""

from itertools import combinations

import pytest

from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.tokens import InvalidTokenError

BAD_TOKENS = ["acme.>", "*", ">", "acme beta", "acme.support", "acme\r\nPUB x 0", "", "a" * 300, "Acme", "é", "a\n"]


@pytest.mark.parametrize("bad", BAD_TOKENS)
def test_a_bad_id_never_becomes_a_part_of_a_subject(bad: str) -> None:
    builders = (
        lambda: subjects.query_submitted(bad, "q1"),
        lambda: subjects.query_submitted("acme", bad),
        lambda: subjects.retrieve(Kind.VECTOR, bad, "acme", "docs"),
        lambda: subjects.retrieve(Kind.VECTOR, "main", bad, "docs"),
        lambda: subjects.retrieve(Kind.VECTOR, "main", "acme", bad),
        lambda: subjects.retrieved("acme", "q1", bad),
        lambda: subjects.live_retrieved_of_query("acme", bad),
        lambda: subjects.chunks_get(bad, "docs"),
        lambda: subjects.backend_outcome(Kind.GRAPH, bad),
        lambda: subjects.backend_probe(Kind.GRAPH, bad),
        lambda: subjects.heartbeat(Stage.FUSER, bad),
        lambda: subjects.audit(bad),
        lambda: subjects.deadletter(Stage.FUSER, bad),
        lambda: subjects.query_decide(bad),
        lambda: streams.pool_consumer(Kind.VECTOR, bad),
        lambda: streams.corpus_key(bad, "docs"),
        lambda: streams.backend_key(Kind.VECTOR, bad),
    )
    for build in builders:
        with pytest.raises(InvalidTokenError):
            build()


def matches(pattern: str, subject: str) -> bool:
    left, right = pattern.split("."), subject.split(".")
    for position, token in enumerate(left):
        if token == ">":
            return len(right) > position
        if position >= len(right) or token not in {"*", right[position]}:
            return False
    return len(left) == len(right)


SUBJECTS = {
    flow.SUBMITTED: subjects.query_submitted("acme", "q1"),
    flow.CLASSIFIED: subjects.query_classified("acme", "q1"),
    flow.PLANNED: subjects.query_planned("acme", "q1"),
    flow.RETRIEVE: subjects.retrieve(Kind.VECTOR, "main", "acme", "docs"),
    flow.RETRIEVED: subjects.retrieved("acme", "q1", "v0"),
    flow.FUSED: subjects.query_fused("acme", "q1"),
    flow.ANSWERED: subjects.query_answered("acme", "q1"),
    flow.CANCELLED: subjects.query_cancelled("acme", "q1"),
    flow.DECIDE: subjects.query_decide("acme"),
    flow.ROUTE_DECIDE: subjects.route_decide("acme"),
    flow.CHUNKS: subjects.chunks_get("acme", "docs"),
    flow.OUTCOME: subjects.backend_outcome(Kind.VECTOR, "main"),
    flow.PROBE: subjects.backend_probe(Kind.VECTOR, "main"),
    flow.HEARTBEAT: subjects.heartbeat(Stage.FUSER, "i1"),
    flow.AUDITED: subjects.audit("acme"),
    flow.DEADLETTER: subjects.deadletter(Stage.FUSER, "acme"),
}


@pytest.mark.parametrize("channel", SUBJECTS, ids=lambda channel: channel.name)
def test_a_built_subject_matches_its_own_channel_and_no_other(channel: flow.Channel) -> None:
    hits = [other.name for other in flow.CHANNELS if matches(other.subject, SUBJECTS[channel])]
    assert hits == [channel.name]


def test_only_channels_with_a_stream_are_captured_by_one() -> None:
    for channel, subject in SUBJECTS.items():
        capturing = [s.name for s in streams.STREAMS if any(matches(pattern, subject) for pattern in s.subjects)]
        wanted = [channel.stream] if channel.stream and channel is not flow.ANSWERED else []
        assert capturing == wanted, channel.name


def test_consumers_of_one_work_queue_never_overlap() -> None:
    pools = [streams.pool_consumer(kind, pool) for kind in Kind for pool in ("main", "eu")]
    for left, right in combinations([*streams.CONSUMERS, *pools], 2):
        if left.stream == right.stream:
            assert not matches(left.filter_subject, right.filter_subject)
            assert left.durable != right.durable


def test_parsers_undo_the_builders() -> None:
    assert subjects.parse_query(subjects.query_planned("acme", "q1")) == ("acme", "q1")
    assert subjects.parse_tenant(subjects.query_decide("acme")) == "acme"
    assert subjects.parse_tenant_corpus(subjects.chunks_get("acme", "docs")) == ("acme", "docs")
    assert subjects.parse_lane(subjects.retrieved("acme", "q1", "v0")) == "v0"
    with pytest.raises(InvalidTokenError):
        subjects.parse_query("fanfuse.v1.query.submitted.acme")
