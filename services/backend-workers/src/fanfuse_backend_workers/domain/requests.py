"""What an engine is asked, from a command: only a command that fits the subject it came on and the corpus's card.

In: a command, the subject's kind, tenant and corpus, cards. Out: requests, or a typed `SearchError`. The tenant of a
request is the subject's, and so is its corpus, but in a shared search, where the subject stands for several.
"""

from collections.abc import Sequence
from typing import Final

from fanfuse_backend_workers.ports import SearchError, SearchRequest
from fanfuse_contracts.corpus import ALL_CORPORA, CorpusCard, EmbedderSpec
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.plan import RetrieveCommand

_COMPARABLE: Final = frozenset({Kind.VECTOR})
"""Kinds whose scores mean the same in every corpus: a cosine does, BM25 and a walk depend on what else is there."""


def of_subject(command: RetrieveCommand, kind: Kind, tenant: str, corpus: str) -> RetrieveCommand:
    """The command with its subject's kind, tenant and corpus, which are the truth."""
    return command.stating(kind=kind, tenant=tenant, corpus=corpus)


def check_subject(command: RetrieveCommand, claimed: RetrieveCommand) -> None:
    """Raise BAD_REQUEST where the payload speaks of another kind, tenant or corpus than its subject."""
    if (command.kind, command.tenant, command.corpus) != (claimed.kind, claimed.tenant, claimed.corpus):
        raise SearchError(FailureKind.BAD_REQUEST, "the command's kind, tenant or corpus is not that of its subject")


def check_shared(command: RetrieveCommand) -> None:
    """Raise BAD_REQUEST where the corpora are not those of the subject, CONFIG where their hits cannot be merged."""
    if (command.corpus == ALL_CORPORA) is not bool(command.corpora):
        message = f"a command names several corpora if and only if its subject says {ALL_CORPORA!r}"
        raise SearchError(FailureKind.BAD_REQUEST, message)
    if list(command.corpora) != sorted(set(command.corpora)):
        raise SearchError(FailureKind.BAD_REQUEST, "the corpora of a shared search are not sorted, or one stands twice")
    if command.corpora and command.kind not in _COMPARABLE:
        backend = f"{command.kind.value}/{command.backend}"
        raise SearchError(
            FailureKind.CONFIG,
            f"{backend} searches one corpus at a time, its scores cannot be compared between corpora:"
            " its wirings are not `shared`",
        )


def corpora_of(command: RetrieveCommand) -> tuple[str, ...]:
    """The corpora to search, each in its own index."""
    return command.corpora or (command.corpus,)


def common_card(cards: Sequence[CorpusCard]) -> CorpusCard:
    """A card whose embedder is that of all; raises CONFIG where they differ: their scores could not be compared."""
    first, *others = cards
    for card in others:
        if card.embedder != first.embedder:
            message = f"corpora {first.corpus!r} and {card.corpus!r} have different embedders: no shared search"
            raise SearchError(FailureKind.CONFIG, message)
    return first


def embedder_for_text(card: CorpusCard, text: str) -> EmbedderSpec:
    """The embedder that turns `text` into a vector of this corpus; raises CONFIG or BAD_REQUEST."""
    if card.embedder is None:
        raise SearchError(FailureKind.CONFIG, f"the card of corpus {card.corpus!r} names no embedder")
    if not card.embedder.local:
        raise SearchError(FailureKind.BAD_REQUEST, f"corpus {card.corpus!r} takes only the caller's vectors")
    if not text.strip():
        raise SearchError(FailureKind.BAD_REQUEST, "there is no text to embed and no vector")
    return card.embedder


def check_dimensions(card: CorpusCard, vector: tuple[float, ...]) -> None:
    """Raise CONFIG where a vector cannot be of the corpus's model."""
    if card.embedder is not None and len(vector) != card.embedder.dimensions:
        raise SearchError(
            FailureKind.CONFIG,
            f"the vector has {len(vector)} dimensions, corpus {card.corpus!r} has {card.embedder.dimensions}",
        )


def build_request(
    command: RetrieveCommand, corpus: str, vector: tuple[float, ...] | None, timeout_s: float
) -> SearchRequest:
    """What the engine of one corpus is asked, in at most `timeout_s` seconds."""
    return SearchRequest(
        tenant=command.tenant,
        corpus=corpus,
        text=command.text,
        window=command.window,
        timeout_s=timeout_s,
        identifiers=command.identifiers,
        vector=vector,
        seeds=command.seeds,
        filter=command.filter,
    )
