"""Can the sources that a query is about be asked at all, and whose word may stand in for one that is down?

In: selected corpora with their wired lanes. Out: the same with stand-ins, or a refusal, and what could not be
confirmed. Another kind of truth never stands in for the one that was asked.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import SourceKind, UnconfirmedReason
from fanfuse_contracts.plan import Rejection, Unconfirmed
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.lanes import WiredCorpus

Standby = Callable[[CorpusCard, WiredCorpus], WiredCorpus]
"""Wires a fallback's card with the weight of the corpus that is down."""


def with_fallbacks(
    corpora: Sequence[WiredCorpus], standby: Mapping[str, CorpusCard], wire: Standby
) -> tuple[WiredCorpus, ...]:
    """Put behind each corpus that is down the first of its fallbacks that is ready; theirs are not followed.

    One is searched in place of a corpus that was selected: it counts neither for `max_corpora` nor for `max_cost`.
    """
    searched = {corpus.card.corpus for corpus in corpora}
    rows: list[WiredCorpus] = []
    for corpus in corpora:
        substitute = _fallback(corpus, standby, searched, wire) if corpus.lanes.down else None
        if substitute is None:
            rows.append(corpus)
        else:
            searched.add(substitute.card.corpus)
            rows += (corpus._replace(lanes=corpus.lanes.released()), substitute)
    return tuple(rows)


def _fallback(
    down: WiredCorpus, standby: Mapping[str, CorpusCard], searched: Collection[str], wire: Standby
) -> WiredCorpus | None:
    allowed = (standby[name] for name in down.card.fallbacks if name in standby and name not in searched)
    wired = (wire(card, down) for card in allowed if card.source is down.source)
    return next((corpus for corpus in wired if corpus.lanes.ready), None)


def refusal(corpora: Sequence[WiredCorpus], kinds: frozenset[SourceKind]) -> Rejection | None:
    """Refuse if a corpus of the kinds that must confirm is down and none of these kinds is ready."""
    down = [corpus for corpus in corpora if corpus.lanes.down and corpus.source in kinds]
    if not down or any(corpus.lanes.ready and corpus.source in kinds for corpus in corpora):
        return None
    return rejections.unconfirmed_while_down(
        [corpus.card.corpus for corpus in down], [lane for corpus in down for lane in corpus.lanes.skipped]
    )


def unconfirmed(corpora: Sequence[WiredCorpus], now_s: float) -> tuple[Unconfirmed, ...]:
    """DOWN and STALE sources, in the order of selection."""
    stand_ins = {one.stands_in_for: one.card.corpus for one in corpora if one.stands_in_for is not None}
    rows = (_unconfirmed(one, stand_ins.get(one.card.corpus), now_s) for one in corpora if _may_be_unconfirmed(one))
    return tuple(row for row in rows if row is not None)


def _may_be_unconfirmed(corpus: WiredCorpus) -> bool:
    return corpus.lanes.down or corpus.selected.card.freshness_s is not None


def _unconfirmed(corpus: WiredCorpus, stand_in: str | None, now_s: float) -> Unconfirmed | None:
    card = corpus.card
    if corpus.lanes.down:
        replaced = f"; {stand_in!r} stands in" if stand_in is not None else ""
        message = f"no backend can be asked: {rejections.lanes_listed(corpus.lanes.skipped)}{replaced}"
        return Unconfirmed(corpus=card.corpus, reason=UnconfirmedReason.DOWN, message=message)
    old = staleness(card, now_s) if corpus.lanes.ready else None
    return Unconfirmed(corpus=card.corpus, reason=UnconfirmedReason.STALE, message=old) if old is not None else None


def staleness(card: CorpusCard, now_s: float) -> str | None:
    """Why the text of a corpus is older than its card allows, or None. `now_s`: seconds since the epoch.

    Depends on the time only through its verdict, so that two plans of one query are equal.
    """
    if card.freshness_s is None or card.indexed_at is None:
        return None
    try:
        indexed = datetime.fromisoformat(card.indexed_at)
    except ValueError:
        return f"when it was indexed cannot be read: {card.indexed_at[:40]!r} is no ISO 8601 time"
    if indexed.tzinfo is None:
        indexed = indexed.replace(tzinfo=UTC)
    if now_s - indexed.timestamp() <= card.freshness_s:
        return None
    return f"indexed at {card.indexed_at}, more than the {card.freshness_s} s ago that its card allows"
