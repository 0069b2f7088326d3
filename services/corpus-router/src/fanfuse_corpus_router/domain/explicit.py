"""Selects the corpora that the caller names: the visible ones, whatever rules and scores say.

In: visible cards, the names and the classified query. Out: a `Selection` or a rejection. Rules are about relevance, not
about access; a name that is invisible reads like one that does not exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.enums import Shape, Strategy
from fanfuse_contracts.plan import Rejection
from fanfuse_corpus_router.domain import rejections
from fanfuse_corpus_router.domain.candidates import (
    Candidate,
    able_to,
    corpus_weights,
    nothing_is_shut,
    rank_candidates,
)
from fanfuse_corpus_router.domain.corpus_decision import Listing, decide, out_of_scope, out_of_scope_message
from fanfuse_corpus_router.domain.selected import SelectedCorpus, Selection
from fanfuse_corpus_router.domain.visibility import Cards


@dataclass(frozen=True, slots=True)
class Named:
    """The named corpora that are visible and can answer what the query names, by score; `notes` tell of the others."""

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]


def select_pinned(
    visible: Cards, event: QueryClassified, pin: Sequence[str], routing: RoutingConfig
) -> Selection | Rejection:
    """Pin ∩ visible, weighed by their probabilities."""
    named = named_corpora(visible, event, pin, routing)
    if isinstance(named, Rejection):
        return named
    corpora = tuple(
        SelectedCorpus(candidate.card, weight, asked=candidate.asked)
        for candidate, weight in zip(named.candidates, corpus_weights(named.candidates), strict=True)
    )
    reasons = ("pinned",) * len(corpora)
    return explicit_selection(named, corpora, routing, ("pinned by the caller", reasons), event.classification.shape)


def named_corpora(
    visible: Cards, event: QueryClassified, names: Sequence[str], routing: RoutingConfig
) -> Named | Rejection:
    """Which of the names may be searched, or why none may."""
    capability = event.query.capability
    known = {corpus: card for corpus, card in visible.items() if corpus in names}
    unknown = sorted(set(names) - known.keys())
    if not known:
        return rejections.unknown_corpus(unknown)
    able = known if capability is None else able_to(capability, known)
    if capability is not None and not able:
        return rejections.unknown_capability(capability)
    unable = sorted(known.keys() - able.keys())
    notes = (
        *([rejections.unknown_names(unknown)] if unknown else ()),
        *([f"cannot answer {capability!r}: {rejections.listed(unable)}"] if unable else ()),
    )
    ranking = rank_candidates(able, event.corpus_scores, routing.learned_temperature, nothing_is_shut, capability)
    return Named(ranking.allowed.first(len(able)), notes)


def explicit_selection(
    named: Named,
    corpora: tuple[SelectedCorpus, ...],
    routing: RoutingConfig,
    reasons: tuple[str, Sequence[str]],
    shape: Shape,
) -> Selection:
    """All of them are searched; `reasons`: of the decision, and one per corpus. Nothing may stand in for one."""
    why, each = reasons

    def reason(position: int) -> str:
        candidate = named.candidates[position]
        return "; ".join((each[position], *([out_of_scope_message(candidate)] if candidate.topics else ())))

    count = len(named.candidates)
    listing = Listing(named.candidates, count, count, reason)
    return Selection(
        decision=decide(Strategy.EXPLICIT, routing, listing, "; ".join((why, *named.notes))),
        corpora=corpora,
        shape=shape,
        unconfirmed=out_of_scope(named.candidates),
    )
