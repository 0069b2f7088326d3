"""Is a lane lost that an answer must have, before anybody is asked?

In: selected corpora with their wired lanes. Out: a refusal, or None. Nothing is searched for an answer that would be
withheld.
"""

from collections.abc import Sequence

from fanfuse_contracts.plan import Rejection
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.lanes import WiredCorpus


def refusal(corpora: Sequence[WiredCorpus]) -> Rejection | None:
    """Refuse if a lane is left out that must answer."""
    lost = [lane for corpus in corpora for lane in corpus.lanes.lost]
    return rejections.quorum_lost(lost) if lost else None
