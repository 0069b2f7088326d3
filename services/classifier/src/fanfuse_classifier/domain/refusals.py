"""Why a submitted query is refused before anything is searched.

In: a text, or what went wrong. Out: a `Rejection` with a short message that says what to do, or None.
"""

from fanfuse_classifier.domain.text import is_blank
from fanfuse_contracts.enums import RejectionCode, Stage
from fanfuse_contracts.headers import PRINCIPAL
from fanfuse_contracts.plan import Rejection


def refuse_blank(text: str) -> Rejection | None:
    """EMPTY_QUERY for a text of which nothing can be seen."""
    if not is_blank(text):
        return None
    return Rejection(code=RejectionCode.EMPTY_QUERY, message="text: is blank; send the words to search for")


def refuse_unauthenticated(why: str) -> Rejection:
    """UNAUTHENTICATED: it is not proven who asks. `why` repeats nothing of the token."""
    return Rejection(code=RejectionCode.UNAUTHENTICATED, message=f"{PRINCIPAL}: {why}")


def refuse_expired(budget_ms: int) -> Rejection:
    """EXPIRED: the budget was over when the query was read."""
    return Rejection(
        code=RejectionCode.EXPIRED,
        message=f"budget_ms: {budget_ms} ms were over before the query was read; ask again or raise it",
        retryable=True,
        stage=Stage.CLASSIFIER,
    )


def refuse_overloaded() -> Rejection:
    """OVERLOADED: the query could not be passed on now."""
    return Rejection(
        code=RejectionCode.OVERLOADED,
        message="the queue behind the classifier takes no more queries; ask again later",
        retryable=True,
    )


def refuse_over_ceiling(ceiling: int) -> Rejection:
    """OVERLOADED: the tenant asks more at a time than it may."""
    return Rejection(
        code=RejectionCode.OVERLOADED,
        message=f"the tenant has {ceiling} queries in flight, the most it may have: ask again when some are answered",
        retryable=True,
    )


def refuse_too_large(detail: str) -> Rejection:
    """TOO_LARGE: the classified query is larger than the broker takes."""
    return Rejection(code=RejectionCode.TOO_LARGE, message=f"the query is too large to be passed on: {detail}")


def refuse_without_router(detail: str, *, retryable: bool) -> Rejection:
    """UNAVAILABLE: the second half of a decision did not come."""
    return Rejection(
        code=RejectionCode.UNAVAILABLE,
        message=f"the corpus-router gave no decision: {detail}",
        retryable=retryable,
    )
