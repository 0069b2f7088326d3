"""The lanes of a plan, and the command of each.

In: searches with their input, and the classified query. Out: frozen lanes, each with its name and the filter digest its
worker must attest, and one `RetrieveCommand` for each. Time travels as the submission's broker time and a duration,
never as a deadline.
"""

from collections.abc import Sequence
from typing import Any

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import ALL_CORPORA
from fanfuse_contracts.filters import digest
from fanfuse_contracts.plan import Lane, RetrieveCommand
from fanfuse_corpus_router.domain.inputs import LaneInput
from fanfuse_corpus_router.domain.naming import lane_name
from fanfuse_corpus_router.domain.sharing import Search


def build_lanes(searches: Sequence[Search], event: QueryClassified) -> tuple[Lane, ...]:
    """The lanes of the plan, in order. A shared lane's name and digest are those of all its corpora."""
    names: dict[str, None] = {}
    digests: dict[str, str] = {}
    return tuple(_lane(search, event, names, digests) for search in searches)


def _lane(search: Search, event: QueryClassified, names: dict[str, None], digests: dict[str, str]) -> Lane:
    wiring, covered = search.lead.wiring, ",".join(search.corpora)
    name = lane_name(wiring.kind, covered, wiring.backend, names)
    names[name] = None
    if covered not in digests:
        digests[covered] = digest(event.tenant, covered, event.query.filter)
    return Lane(
        name=name,
        corpus=ALL_CORPORA if search.shared else covered,
        corpora=search.corpora if search.shared else (),
        kind=wiring.kind,
        backend=wiring.backend,
        pool=wiring.pool,
        weight=search.weight,
        window=event.query.window,
        filter_digest=digests[covered],
        requirement=search.requirement,
    )


def build_commands(
    lanes: Sequence[Lane], searches: Sequence[Search], event: QueryClassified
) -> tuple[RetrieveCommand, ...]:
    """What the workers are told: one command per lane, in the same order."""
    if not lanes:
        return ()
    every = RetrieveCommand(
        tenant=event.tenant,
        query_id=event.query_id,
        window=event.query.window,
        filter=event.query.filter,
        submitted_ns=event.submitted_ns,
        budget_ms=event.query.budget_ms,
        **_own(lanes[0], searches[0].lead.input),
    )
    # All values are those of validated models: it is enough that the first command is checked as a whole.
    return tuple(
        every.model_copy(update=_own(lane, search.lead.input)) for lane, search in zip(lanes, searches, strict=True)
    )


def _own(lane: Lane, found: LaneInput) -> dict[str, Any]:
    """Where the commands of a plan differ."""
    return {
        "lane": lane.name,
        "corpus": lane.corpus,
        "corpora": lane.corpora,
        "kind": lane.kind,
        "backend": lane.backend,
        "text": found.text,
        "identifiers": found.identifiers,
        "vector": found.vector,
        "seeds": found.seeds,
        "filter_digest": lane.filter_digest,
    }
