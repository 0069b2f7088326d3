"""What is kept for operators: dead letters and the audit of decisions."""

from fanfuse_contracts.base import Event, Nanoseconds
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.plan import Clarification, Plan, Rejection
from fanfuse_contracts.tokens import Token


class DeadLetter(Event):
    """Published on `deadletter.<stage>.<tenant>`: a message that no retry can help."""

    stage: Stage
    tenant: Token
    subject: str
    reason: str
    """`undecodable`, `max_deliveries` or the typed failure's name."""
    detail: str = ""
    deliveries: int
    headers: dict[str, str] = {}
    payload_base64: str
    at: str
    """UTC time, ISO 8601 with offset."""


class RouteAudited(Event):
    """Published on `audit.<tenant>` as event `corpus.route`."""

    event: str = "corpus.route"
    tenant: Token
    query_id: Token
    principal: str | None = None
    plan: Plan | None = None
    clarification: Clarification | None = None
    rejection: Rejection | None = None
    fired: tuple[str, ...] = ()
    """Names of the rules, scopes and capabilities that fired for any corpus of the tenant, sorted."""
    submitted_ns: Nanoseconds
