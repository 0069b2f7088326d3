"""Why a query gets no plan, and what to do about it.

In: what was asked and what is possible. Out: frozen rejections. A message never tells an invisible corpus from one that
does not exist, and names nothing the principal may not read.
"""

from collections.abc import Iterable, Sequence

from fanfuse_contracts.enums import LaneOutcome, RejectionCode, Stage
from fanfuse_contracts.plan import Rejection, SkippedLane

MAX_LISTED = 8
"""Details named in one message; the rest is counted."""


def no_visible_corpus() -> Rejection:
    """Nothing of this tenant may be read by whoever asks."""
    return Rejection(
        code=RejectionCode.NO_VISIBLE_CORPUS,
        message="no corpus is visible for this query: state a principal whose roles may read one, or index a corpus",
    )


def unknown_corpus(names: Sequence[str]) -> Rejection:
    """Every pinned corpus is invisible or does not exist: which of the two is not told."""
    return Rejection(
        code=RejectionCode.UNKNOWN_CORPUS,
        message=f"{unknown_names(names)}: pin a corpus that exists and that the principal may read, or pin none",
    )


def unknown_names(names: Sequence[str]) -> str:
    """The one wording for a corpus that is invisible or does not exist."""
    return f"unknown corpus {listed(repr(name) for name in names)}"


def all_excluded(rules: Iterable[str]) -> Rejection:
    """Static rules excluded every visible corpus."""
    return Rejection(
        code=RejectionCode.ALL_EXCLUDED,
        message=f"every visible corpus is excluded by a rule ({listed(rules)}): pin a corpus or change the rule",
    )


def pin_required() -> Rejection:
    """The operators' file wants every query to name its corpora."""
    return Rejection(
        code=RejectionCode.PIN_REQUIRED,
        message="every query must pin the corpora to search here (routing strategy explicit): pin one",
    )


def unknown_capability(name: str) -> Rejection:
    """No corpus that may be searched can answer this: whether an invisible one could is not told."""
    return Rejection(
        code=RejectionCode.UNKNOWN_CORPUS,
        message=f"unknown capability {name!r}: name one of a corpus that the principal may read, or name none",
    )


def out_of_scope(topics: Iterable[str]) -> Rejection:
    """Every corpus that may be searched says that it cannot confirm what is asked."""
    return Rejection(
        code=RejectionCode.UNCONFIRMED,
        message=f"no source can confirm {listed(map(repr, topics))}: pin a corpus to search it all the same",
    )


def unsupported_filter(problems: Iterable[str]) -> Rejection:
    """No lane of any selected corpus can apply the filter exactly."""
    return Rejection(
        code=RejectionCode.UNSUPPORTED_FILTER,
        message=f"no selected corpus can apply the filter: {listed(problems, '; ')}",
    )


def no_lane(skipped: Sequence[SkippedLane]) -> Rejection:
    """Every wired lane was left out. Retryable if a backend's fault is among the reasons."""
    return Rejection(
        code=RejectionCode.NO_LANE,
        message=f"no backend can be asked: {lanes_listed(skipped) or 'the selected corpora have none'}",
        retryable=any(lane.fallback_reason is not None for lane in skipped),
    )


def unconfirmed_while_down(corpora: Sequence[str], skipped: Sequence[SkippedLane]) -> Rejection:
    """Every source that could confirm the answer is down; corpora of another kind are not asked in their place."""
    return Rejection(
        code=RejectionCode.UNCONFIRMED,
        message=(
            f"could not be confirmed: corpus {listed(map(repr, corpora))} is down and no other source may stand in "
            f"({lanes_listed(skipped)}): ask again later"
        ),
        retryable=True,
    )


def lanes_listed(skipped: Iterable[SkippedLane]) -> str:
    """Lanes that are left out, each with its reason."""
    return listed((f"{lane.corpus}: {lane.kind.value}/{lane.backend}: {lane.reason}" for lane in skipped), "; ")


def quorum_lost(lost: Sequence[SkippedLane]) -> Rejection:
    """Lanes that must answer cannot be asked. Retryable if a backend's fault is the reason for each."""
    retryable = all(lane.fallback_reason is not None for lane in lost)
    by_filter = any(lane.outcome is LaneOutcome.SKIPPED_FILTER for lane in lost)
    what_to_do = "ask again later" if retryable else "change the filter" if by_filter else "pin fewer corpora"
    return Rejection(
        code=RejectionCode.QUORUM,
        message=f"a lane that must answer cannot be asked ({lanes_listed(lost)}): {what_to_do}",
        retryable=retryable,
    )


def expired(budget_ms: int) -> Rejection:
    """The budget was spent before the query came here."""
    return Rejection(
        code=RejectionCode.EXPIRED,
        message=f"the budget of {budget_ms} ms was over before the query was planned: ask again, or allow more time",
        retryable=True,
        stage=Stage.CORPUS_ROUTER,
    )


def overloaded() -> Rejection:
    """A stream refused the commands or the plan."""
    return Rejection(
        code=RejectionCode.OVERLOADED,
        message="the system takes no more work at the moment: ask again in a second",
        retryable=True,
    )


def too_large(what: str) -> Rejection:
    """A command or the plan is larger than a message may be."""
    return Rejection(
        code=RejectionCode.TOO_LARGE,
        message=f"{what}: shorten the filter's lists of values, or leave a vector out",
    )


def listed(items: Iterable[str], separator: str = ", ") -> str:
    """Distinct items in their order, at most `MAX_LISTED`."""
    distinct = list(dict.fromkeys(items))
    more = len(distinct) - MAX_LISTED
    return separator.join([*distinct[:MAX_LISTED], *([f"and {more} more"] if more > 0 else [])])
