"""What an engine is asked, from a command: only a command that fits the subject it came on and the corpus's card.

In: a command, the subject's kind, tenant and corpus, a card. Out: the request, or a typed `SearchError`. Tenant and
corpus of the request are the subject's.
"""

from fanfuse_backend_workers.ports import SearchError, SearchRequest
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_contracts.plan import RetrieveCommand


def of_subject(command: RetrieveCommand, kind: Kind, tenant: str, corpus: str) -> RetrieveCommand:
    """The command with its subject's kind, tenant and corpus, which are the truth."""
    return command.model_copy(update={"kind": kind, "tenant": tenant, "corpus": corpus})


def check_subject(command: RetrieveCommand, claimed: RetrieveCommand) -> None:
    """Raise BAD_REQUEST where the payload speaks of another kind, tenant or corpus than its subject."""
    if (command.kind, command.tenant, command.corpus) != (claimed.kind, claimed.tenant, claimed.corpus):
        raise SearchError(FailureKind.BAD_REQUEST, "the command's kind, tenant or corpus is not that of its subject")


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


def build_request(command: RetrieveCommand, vector: tuple[float, ...] | None, timeout_s: float) -> SearchRequest:
    """What the engine is asked, in at most `timeout_s` seconds."""
    return SearchRequest(
        tenant=command.tenant,
        corpus=command.corpus,
        text=command.text,
        window=command.window,
        timeout_s=timeout_s,
        identifiers=command.identifiers,
        vector=vector,
        seeds=command.seeds,
        filter=command.filter,
    )
