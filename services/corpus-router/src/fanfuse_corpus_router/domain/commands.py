"""The lanes of a plan, and the command of each.

In: searches and the classified query. Out: frozen lanes, each with its name and the filter digest its worker must
attest, and one frozen `RetrieveCommand` per lane. Time travels as the submission's broker time and a duration, never as
a deadline.
"""

from collections.abc import Container, Sequence
from typing import Any

from fanfuse_contracts.base import SCHEMA_VERSION
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import ALL_CORPORA
from fanfuse_contracts.filters import canonical, digest_of
from fanfuse_contracts.plan import Lane, RetrieveCommand
from fanfuse_corpus_router.domain.inputs import LaneInput, QueryInputs
from fanfuse_corpus_router.domain.naming import lane_name
from fanfuse_corpus_router.domain.sharing import Search
from fanfuse_corpus_router.domain.wired import WiredLane


def build_lanes(searches: Sequence[Search], event: QueryClassified) -> tuple[Lane, ...]:
    """The lanes of the plan, in order. A shared lane's name and digest are those of all its corpora."""
    names: set[str] = set()
    lanes: list[Lane] = []
    window, condition = event.query.window, canonical(event.query.filter)
    for search in searches:
        lead, corpora, weight, _, members = search
        fields = lead.fields.copy()
        if members:
            fields |= _of_all(search)
        if members or condition:
            fields["filter_digest"] = digest_of(event.tenant, ",".join(corpora), condition)
        if members or fields["name"] in names:
            fields["name"] = _name(search, names)
        names.add(fields["name"])
        fields["weight"] = weight
        fields["window"] = window
        lanes.append(Lane.of_checked(fields))
    return tuple(lanes)


def _of_all(search: Search) -> dict[str, Any]:
    return {"corpus": ALL_CORPORA, "corpora": search.corpora, "requirement": search.requirement}


def _name(search: Search, taken: Container[str]) -> str:
    wiring = search.lead.wiring
    return lane_name(wiring.kind, ",".join(search.corpora), wiring.backend, taken)


def build_commands(
    lanes: Sequence[Lane], searches: Sequence[Search], event: QueryClassified, inputs: QueryInputs
) -> tuple[RetrieveCommand, ...]:
    """What the workers are told: one command per lane, in the same order."""
    alike: dict[object, dict[str, Any]] = {}
    commands: list[RetrieveCommand] = []
    for lane, search in zip(lanes, searches, strict=True):
        lead = search.lead
        common = alike.get(lead.searched_with)
        if common is None:
            common = alike[lead.searched_with] = _common(event, inputs.of_ready(lead))
        commands.append(RetrieveCommand.of_checked(common | _told(lane, lead)))
    return tuple(commands)


def _told(lane: Lane, lead: WiredLane) -> dict[str, Any]:
    """Where the command of a lane differs from those with the same input."""
    told = lead.told
    if lane.filter_digest == told["filter_digest"] and lane.name == told["lane"] and not lane.corpora:
        return told
    return told | {
        "lane": lane.name,
        "corpus": lane.corpus,
        "corpora": lane.corpora,
        "filter_digest": lane.filter_digest,
    }


def _common(event: QueryClassified, found: LaneInput) -> dict[str, Any]:
    """The fields of the commands with one input, in the order of the class; None: the lane's own."""
    query = event.query
    return {
        "schema_version": SCHEMA_VERSION,
        "tenant": event.tenant,
        "query_id": event.query_id,
        "lane": None,
        "corpus": None,
        "corpora": None,
        "kind": None,
        "backend": None,
        "text": found.text,
        "identifiers": found.identifiers,
        "vector": found.vector,
        "seeds": found.seeds,
        "window": query.window,
        "filter": query.filter,
        "filter_digest": None,
        "submitted_ns": event.submitted_ns,
        "budget_ms": query.budget_ms,
        "attempt": 0,
    }
