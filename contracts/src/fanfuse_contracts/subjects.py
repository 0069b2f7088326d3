"""Every subject of Fanfuse: patterns, builders and parsers. No subject literal stands elsewhere.

Builders check each token first, so an id can never widen a subject.
"""

from typing import Final, NamedTuple

from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.tokens import InvalidTokenError, check_token

ROOT: Final = "fanfuse.v1"

QUERY_SUBMITTED: Final = f"{ROOT}.query.submitted.*.*"
QUERY_CLASSIFIED: Final = f"{ROOT}.query.classified.*.*"
QUERY_PLANNED: Final = f"{ROOT}.query.planned.*.*"
QUERY_FUSED: Final = f"{ROOT}.query.fused.*.*"
QUERY_ANSWERED: Final = f"{ROOT}.query.answered.*.*"
QUERY_CANCELLED: Final = f"{ROOT}.query.cancelled.*.*"
QUERY_DECIDE: Final = f"{ROOT}.query.decide.*"
ROUTE_DECIDE: Final = f"{ROOT}.route.decide.*"
RETRIEVE: Final = f"{ROOT}.retrieve.>"
RETRIEVED: Final = f"{ROOT}.retrieved.>"
LIVE_RETRIEVED: Final = f"{ROOT}.live.retrieved.>"
CHUNKS_GET: Final = f"{ROOT}.chunks.get.*.*"
BACKEND_OUTCOME: Final = f"{ROOT}.backend.outcome.>"
BACKEND_PROBE: Final = f"{ROOT}.backend.probe.*.*"
HEARTBEAT: Final = f"{ROOT}.heartbeat.*.*"
AUDIT: Final = f"{ROOT}.audit.*"
QUALITY: Final = f"{ROOT}.quality.*.*"
DEADLETTER: Final = f"{ROOT}.deadletter.>"
MAX_DELIVERIES_ADVISORY: Final = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.*.*"


class QuerySubject(NamedTuple):
    """Who asked: read from a subject, never from a payload."""

    tenant: str
    query_id: str


def _query(stage: str, tenant: str, query_id: str) -> str:
    return f"{ROOT}.query.{stage}.{check_token(tenant, 'tenant')}.{check_token(query_id, 'query id')}"


def query_submitted(tenant: str, query_id: str) -> str:
    """Where a caller publishes a query."""
    return _query("submitted", tenant, query_id)


def query_classified(tenant: str, query_id: str) -> str:
    """Where the classifier publishes its findings."""
    return _query("classified", tenant, query_id)


def query_planned(tenant: str, query_id: str) -> str:
    """Where the router publishes a plan."""
    return _query("planned", tenant, query_id)


def query_fused(tenant: str, query_id: str) -> str:
    """Where an answer is stored, whoever makes it."""
    return _query("fused", tenant, query_id)


def query_answered(tenant: str, query_id: str) -> str:
    """Where the server republishes a stored answer: what a caller subscribes to."""
    return _query("answered", tenant, query_id)


def query_classified_of(tenant: str) -> str:
    """Every query of a tenant that waits for its plan."""
    return f"{ROOT}.query.classified.{check_token(tenant, 'tenant')}.*"


def query_planned_of(tenant: str) -> str:
    """Every query of a tenant that waits for its answer."""
    return f"{ROOT}.query.planned.{check_token(tenant, 'tenant')}.*"


def query_cancelled(tenant: str, query_id: str) -> str:
    """Where a caller says that it no longer waits."""
    return _query("cancelled", tenant, query_id)


def answered_of_tenant(tenant: str) -> str:
    """Every answer of one tenant."""
    return f"{ROOT}.query.answered.{check_token(tenant, 'tenant')}.*"


def fused_of_tenant(tenant: str) -> str:
    """Every stored answer of one tenant."""
    return f"{ROOT}.query.fused.{check_token(tenant, 'tenant')}.*"


def query_decide(tenant: str) -> str:
    """Request/reply: what would be done with this query? Answered by the classifier through the router."""
    return f"{ROOT}.query.decide.{check_token(tenant, 'tenant')}"


def route_decide(tenant: str) -> str:
    """Request/reply between classifier and router."""
    return f"{ROOT}.route.decide.{check_token(tenant, 'tenant')}"


def retrieve(kind: Kind, pool: str, tenant: str, corpus: str) -> str:
    """Where a retrieval command for one pool of workers is published."""
    return (
        f"{ROOT}.retrieve.{kind.value}.{check_token(pool, 'pool')}"
        f".{check_token(tenant, 'tenant')}.{check_token(corpus, 'corpus')}"
    )


def retrieve_of_pool(kind: Kind, pool: str) -> str:
    """Filter of a pool's consumer."""
    return f"{ROOT}.retrieve.{kind.value}.{check_token(pool, 'pool')}.>"


def retrieved(tenant: str, query_id: str, lane: str) -> str:
    """Where a worker publishes the reply of one lane."""
    tokens = (check_token(tenant, "tenant"), check_token(query_id, "query id"), check_token(lane, "lane"))
    return f"{ROOT}.retrieved.{'.'.join(tokens)}"


def retrieved_of_query(tenant: str, query_id: str) -> str:
    """Every stored lane reply of one query."""
    return f"{ROOT}.retrieved.{check_token(tenant, 'tenant')}.{check_token(query_id, 'query id')}.*"


def live_retrieved_of_query(tenant: str, query_id: str) -> str:
    """Every lane reply of one query, republished by the server after it is stored."""
    return f"{ROOT}.live.retrieved.{check_token(tenant, 'tenant')}.{check_token(query_id, 'query id')}.*"


def chunks_get(tenant: str, corpus: str) -> str:
    """Request/reply: the texts of some chunks."""
    return f"{ROOT}.chunks.get.{check_token(tenant, 'tenant')}.{check_token(corpus, 'corpus')}"


def backend_outcome(kind: Kind, backend: str) -> str:
    """Where the outcome of a call to a backend is published."""
    return f"{ROOT}.backend.outcome.{kind.value}.{check_token(backend, 'backend')}"


def backend_probe(kind: Kind, backend: str) -> str:
    """Request/reply: probe a degraded backend now."""
    return f"{ROOT}.backend.probe.{kind.value}.{check_token(backend, 'backend')}"


def heartbeat(stage: Stage, instance: str) -> str:
    """Where one instance of a service says every second that it lives."""
    return f"{ROOT}.heartbeat.{stage.value}.{check_token(instance, 'instance')}"


def quality(tenant: str, corpus: str) -> str:
    """Where a fuser tells what each lane of a corpus contributed."""
    return f"{ROOT}.quality.{check_token(tenant, 'tenant')}.{check_token(corpus, 'corpus')}"


def audit(tenant: str) -> str:
    """Routing decisions kept for operators."""
    return f"{ROOT}.audit.{check_token(tenant, 'tenant')}"


def deadletter(stage: Stage, tenant: str) -> str:
    """Messages that no retry can help."""
    return f"{ROOT}.deadletter.{stage.value}.{check_token(tenant, 'tenant')}"


_QUERY_TOKENS: Final = ROOT.count(".") + 5


def parse_query(subject: str) -> QuerySubject:
    """Tenant and query id of a `query.<stage>.<tenant>.<query_id>` subject; raises `InvalidTokenError`."""
    tokens = subject.split(".")
    if len(tokens) != _QUERY_TOKENS:
        raise InvalidTokenError(f"subject {subject!r} is not of the form {ROOT}.query.<stage>.<tenant>.<query_id>")
    return QuerySubject(check_token(tokens[-2], "tenant"), check_token(tokens[-1], "query id"))


def parse_tenant(subject: str) -> str:
    """Tenant of a subject that ends with it (`query.decide`, `route.decide`, `audit`)."""
    return check_token(subject.rsplit(".", 1)[-1], "tenant")


def parse_tenant_corpus(subject: str) -> tuple[str, str]:
    """Tenant and corpus of a subject that ends with both (`retrieve`, `chunks.get`)."""
    _, tenant, corpus = subject.rsplit(".", 2)
    return check_token(tenant, "tenant"), check_token(corpus, "corpus")


def parse_backend(subject: str) -> tuple[Kind, str]:
    """Kind and backend of a subject that ends with both (`backend.probe`); raises `InvalidTokenError`."""
    _, kind, backend = subject.rsplit(".", 2)
    if kind not in set(Kind):
        raise InvalidTokenError(f"{kind!r} is no kind of a backend")
    return Kind(kind), check_token(backend, "backend")


def parse_lane(subject: str) -> str:
    """Lane of a `retrieved.<tenant>.<query_id>.<lane>` subject."""
    return check_token(subject.rsplit(".", 1)[-1], "lane")
