"""Does a query have to be put more exactly before anything is searched?

In: the selected corpora with what the query asks of them, and the query. Out: None, or what it could mean or lacks. It
names selected corpora only, and no backend is called.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from fanfuse_contracts.capability import Argument, Capability
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.plan import CapabilityOption, Clarification, MissingArgument
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_corpus_router.domain.filtering import fixed_fields
from fanfuse_corpus_router.domain.rejections import listed
from fanfuse_corpus_router.domain.selected import SelectedCorpus

MAX_ROWS = 64
"""Options and missing arguments told in one clarification, those of the best corpora first."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A capability that the query asks of a corpus; `missing`: its required arguments that the query does not give."""

    card: CorpusCard
    capability: Capability
    missing: tuple[Argument, ...]


def clarification(corpora: Sequence[SelectedCorpus], query: SubmittedQuery) -> Clarification | None:
    """What must be said before this query can be carried out, or None."""
    requests = _requests(corpora, query)
    chosen = query.capability is not None or query.corpora is not None or query.decision is not None
    if not chosen and len({request.card.source for request in requests}) > 1:
        return _ambiguous(requests)
    # One complete capability is enough for its kind of truth; another kind cannot answer in its place.
    served = {request.card.source for request in requests if not request.missing}
    lacking = [request for request in requests if request.card.source not in served]
    return _incomplete(lacking) if lacking else None


def _requests(corpora: Iterable[SelectedCorpus], query: SubmittedQuery) -> list[_Request]:
    given = fixed_fields(query.filter)
    requests = []
    for corpus in corpora:
        capabilities = {capability.name: capability for capability in corpus.card.can_answer} if corpus.asked else {}
        for asked in corpus.asked:
            # The classifier may have read another version of the card.
            if (capability := capabilities.get(asked.capability)) is not None:
                missing = tuple(
                    argument
                    for argument in capability.required
                    if argument.field not in given and argument.name not in asked.found
                )
                requests.append(_Request(corpus.card, capability, missing))
    return requests


def _ambiguous(requests: Iterable[_Request]) -> Clarification:
    options = tuple(
        CapabilityOption(
            corpus=request.card.corpus,
            capability=request.capability.name,
            source=request.card.source,
            description=request.capability.description,
        )
        for request in islice(requests, MAX_ROWS)
    )
    named = listed(f"{option.capability!r} ({option.source.value} {option.corpus!r})" for option in options)
    return Clarification(
        message=f"the query asks for different kinds of source: {named}; send it again with one as `capability`",
        options=options,
    )


def _incomplete(requests: Iterable[_Request]) -> Clarification:
    every = ((request, argument) for request in requests for argument in request.missing)
    rows = tuple(islice(every, MAX_ROWS))
    missing = tuple(
        MissingArgument(
            corpus=request.card.corpus,
            capability=request.capability.name,
            argument=argument.name,
            description=argument.description,
            field=argument.field,
        )
        for request, argument in rows
    )
    wanted = (_wanted(request.card.corpus, request.capability.name, argument) for request, argument in rows)
    return Clarification(message=f"the query lacks {listed(wanted, '; ')}", missing=missing)


def _wanted(corpus: str, capability: str, argument: Argument) -> str:
    ways = [
        *(["in the text"] if argument.pattern is not None else []),
        *([f"as a filter on field {argument.field!r}"] if argument.field is not None else []),
    ]
    return f"{argument.name!r} for {capability!r} of corpus {corpus!r}: state it {' or '.join(ways)}"
