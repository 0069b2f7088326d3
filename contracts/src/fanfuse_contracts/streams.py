"""Streams, consumers and key-value buckets, as data. The setup step creates them and compares what it finds.

Ages and windows are seconds, sizes bytes. `None` means: no limit of that sort (the reason stands beside it).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import uuid4

from fanfuse_contracts import limits, subjects
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.tokens import check_token


class Retention(StrEnum):
    """Retention policy of a stream."""

    WORK_QUEUE = "workqueue"
    LIMITS = "limits"


class Storage(StrEnum):
    """Where a stream is kept."""

    FILE = "file"
    MEMORY = "memory"


class Discard(StrEnum):
    """What a full stream does: refuse the new message, or drop the oldest."""

    NEW = "new"
    OLD = "old"


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """One stream."""

    name: str
    subjects: tuple[str, ...]
    retention: Retention
    storage: Storage
    discard: Discard
    max_msgs: int | None = None
    max_bytes: int | None = None
    max_age_s: float | None = None
    max_msgs_per_subject: int | None = None
    discard_new_per_subject: bool = False
    duplicates_s: float = limits.DUPLICATES_S
    allow_direct: bool = False
    republish: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """One durable pull consumer with explicit acknowledgement."""

    stream: str
    durable: str
    filter_subject: str
    ack_wait_s: float = limits.ACK_WAIT_S
    max_deliver: int = limits.MAX_DELIVER
    max_ack_pending: int = 4_096
    max_waiting: int = 512


@dataclass(frozen=True, slots=True)
class BucketSpec:
    """One key-value bucket with history 1, on file, so that it outlives the broker."""

    name: str
    max_bytes: int = 64 * 1024 * 1024


QUERIES: Final = StreamSpec(
    name="QUERIES",
    subjects=(subjects.QUERY_SUBMITTED, subjects.QUERY_CLASSIFIED, subjects.QUERY_PLANNED),
    retention=Retention.WORK_QUEUE,
    storage=Storage.FILE,
    discard=Discard.NEW,
    max_msgs=limits.QUERIES_MAX_MSGS,
    max_bytes=limits.QUERIES_MAX_BYTES,
    max_age_s=limits.QUERIES_MAX_AGE_S,
)
RETRIEVE: Final = StreamSpec(
    name="RETRIEVE",
    subjects=(subjects.RETRIEVE,),
    retention=Retention.WORK_QUEUE,
    storage=Storage.FILE,
    discard=Discard.NEW,
    max_bytes=limits.RETRIEVE_MAX_BYTES,
    max_age_s=limits.RETRIEVE_MAX_AGE_S,
)
RETRIEVED: Final = StreamSpec(
    name="RETRIEVED",
    subjects=(subjects.RETRIEVED,),
    retention=Retention.LIMITS,
    storage=Storage.MEMORY,
    # Replies older than any budget are worthless: dropping the oldest beats refusing the newest.
    discard=Discard.OLD,
    max_bytes=limits.RETRIEVED_MAX_BYTES,
    max_age_s=limits.RETRIEVED_MAX_AGE_S,
    duplicates_s=limits.RETRIEVED_MAX_AGE_S,
    allow_direct=True,
    republish=(subjects.RETRIEVED, subjects.LIVE_RETRIEVED),
)
ANSWERS: Final = StreamSpec(
    name="ANSWERS",
    subjects=(subjects.QUERY_FUSED,),
    retention=Retention.LIMITS,
    storage=Storage.FILE,
    # One message per subject and "discard new per subject" refuse a second answer without any time window. No byte
    # limit: a full stream would refuse answers to accepted queries; age bounds it.
    discard=Discard.NEW,
    max_age_s=limits.ANSWERS_MAX_AGE_S,
    max_msgs_per_subject=1,
    discard_new_per_subject=True,
    duplicates_s=limits.ANSWERS_DUPLICATES_S,
    allow_direct=True,
    republish=(
        subjects.QUERY_FUSED,
        f"{subjects.ROOT}.query.answered.{{{{wildcard(1)}}}}.{{{{wildcard(2)}}}}",
    ),
)
OUTCOMES: Final = StreamSpec(
    name="OUTCOMES",
    subjects=(subjects.BACKEND_OUTCOME,),
    retention=Retention.LIMITS,
    storage=Storage.MEMORY,
    discard=Discard.OLD,
    max_bytes=64 * 1024 * 1024,
    max_age_s=limits.OUTCOMES_MAX_AGE_S,
)
AUDIT: Final = StreamSpec(
    name="AUDIT",
    subjects=(subjects.AUDIT,),
    retention=Retention.LIMITS,
    storage=Storage.FILE,
    discard=Discard.OLD,
    max_bytes=1024 * 1024 * 1024,
    max_age_s=limits.OPERATORS_MAX_AGE_S,
)
QUALITY: Final = StreamSpec(
    name="QUALITY",
    subjects=(subjects.QUALITY,),
    retention=Retention.LIMITS,
    storage=Storage.FILE,
    discard=Discard.OLD,
    max_bytes=limits.QUALITY_MAX_BYTES,
    max_age_s=limits.QUALITY_MAX_AGE_S,
)
DEADLETTER: Final = StreamSpec(
    name="DEADLETTER",
    subjects=(subjects.DEADLETTER,),
    retention=Retention.LIMITS,
    storage=Storage.FILE,
    discard=Discard.OLD,
    max_bytes=1024 * 1024 * 1024,
    max_age_s=limits.OPERATORS_MAX_AGE_S,
    max_msgs_per_subject=limits.DEADLETTERS_PER_SUBJECT,
    allow_direct=True,
)
ADVISORIES: Final = StreamSpec(
    name="ADVISORIES",
    subjects=(subjects.MAX_DELIVERIES_ADVISORY,),
    retention=Retention.WORK_QUEUE,
    storage=Storage.FILE,
    discard=Discard.OLD,
    max_bytes=64 * 1024 * 1024,
    max_age_s=limits.OPERATORS_MAX_AGE_S,
)

STREAMS: Final = (QUERIES, RETRIEVE, RETRIEVED, ANSWERS, OUTCOMES, AUDIT, QUALITY, DEADLETTER, ADVISORIES)

BACKEND_STATE: Final = BucketSpec("backend_state")
"""Key `<kind>.<backend>`, value `BackendState`; written by health, watched by router, workers, fuser."""
CORPORA: Final = BucketSpec("corpora", max_bytes=256 * 1024 * 1024)
"""Key `<tenant>.<corpus>`, value `CorpusCard`; written by operators and by `index`, watched by every service."""

BUCKETS: Final = (BACKEND_STATE, CORPORA)

CLASSIFIER_CONSUMER: Final = ConsumerSpec(QUERIES.name, "classifier", subjects.QUERY_SUBMITTED)
ROUTER_CONSUMER: Final = ConsumerSpec(QUERIES.name, "corpus-router", subjects.QUERY_CLASSIFIED)
FUSER_CONSUMER: Final = ConsumerSpec(QUERIES.name, "fuser", subjects.QUERY_PLANNED)
JANITOR_CONSUMER: Final = ConsumerSpec(ADVISORIES.name, "janitor", subjects.MAX_DELIVERIES_ADVISORY)

CONSUMERS: Final = (CLASSIFIER_CONSUMER, ROUTER_CONSUMER, FUSER_CONSUMER, JANITOR_CONSUMER)

STAGE_OF_DURABLE: Final = {
    CLASSIFIER_CONSUMER.durable: Stage.CLASSIFIER,
    ROUTER_CONSUMER.durable: Stage.CORPUS_ROUTER,
    FUSER_CONSUMER.durable: Stage.FUSER,
}


def pool_consumer(kind: Kind, pool: str) -> ConsumerSpec:
    """The durable of one pool of workers: replicas share it, so each command is handled once."""
    durable = f"worker-{kind.value}-{check_token(pool, 'pool')}"
    return ConsumerSpec(RETRIEVE.name, durable, subjects.retrieve_of_pool(kind, pool))


def corpus_key(tenant: str, corpus: str) -> str:
    """Key of a corpus in the `corpora` bucket."""
    return f"{check_token(tenant, 'tenant')}.{check_token(corpus, 'corpus')}"


def backend_key(kind: Kind, backend: str) -> str:
    """Key of a backend in the `backend_state` bucket."""
    return f"{kind.value}.{check_token(backend, 'backend')}"


def message_id(
    tenant: str,
    query_id: str,
    stage: str,
    lane: str | None = None,
    attempt: int = 0,
    *,
    submitted_ns: int | None = None,
) -> str:
    """Deduplication id of a message: rises only when someone deliberately sends again, never a hash of the text.

    `submitted_ns`: when the query was stored, in the stream that tenants write to as well. Nobody knows it before, so
    nobody can take the id beforehand (ADR 0021).
    """
    named = (lane,) if lane else () if submitted_ns is None else (str(submitted_ns),)
    return ".".join((tenant, query_id, stage, *named, str(attempt)))


def submission_id(tenant: str, query_id: str) -> str:
    """Deduplication id of one submission, to be sent again with it; another one each time (ADR 0021)."""
    return f"{tenant}.{query_id}.submitted.{uuid4().hex}"


def answer_id(tenant: str, query_id: str) -> str:
    """Deduplication id of the one answer of a query: first stored wins."""
    return f"{tenant}.{query_id}.answer"
