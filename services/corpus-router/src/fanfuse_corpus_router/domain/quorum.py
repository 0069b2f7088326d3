"""Is a lane lost that an answer must have, before anybody is asked?

In: selected corpora with their wired lanes. Out: a refusal, or None. Nothing is searched for an answer that would be
withheld.
"""

from collections.abc import Sequence
from dataclasses import replace

from fanfuse_contracts.plan import Rejection, SkippedLane
from fanfuse_contracts.quorum import LOST, Requirement
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.lanes import WiredCorpus


def refusal(corpora: Sequence[WiredCorpus]) -> Rejection | None:
    """Refuse if a lane is left out that must answer. One without input does not count: it has nothing to search."""
    lost = [lane for corpus in corpora for lane in corpus.skipped if _counts(lane)]
    return rejections.quorum_lost(lost) if lost else None


def _counts(lane: SkippedLane) -> bool:
    return lane.requirement is Requirement.MUST and lane.outcome in LOST


def released(down: WiredCorpus) -> WiredCorpus:
    """A corpus in whose place another one is searched: what that one must have counts, not its own."""
    return replace(down, skipped=tuple(_released(lane) for lane in down.skipped))


def _released(lane: SkippedLane) -> SkippedLane:
    return lane.model_copy(update={"requirement": Requirement.SHOULD}) if _counts(lane) else lane
