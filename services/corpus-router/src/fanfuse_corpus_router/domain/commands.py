"""The lanes of a plan, and the command of each.

In: searches with their input, and the classified query. Out: the fields of each `Lane`, with its name and the filter
digest its worker must attest, and one frozen `RetrieveCommand` per lane. Time travels as the submission's broker time
and a duration, never as a deadline.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import TypeAdapter

from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.corpus import ALL_CORPORA
from fanfuse_contracts.filters import canonical, digest_of
from fanfuse_contracts.plan import Lane, RetrieveCommand
from fanfuse_corpus_router.domain.inputs import LaneInput
from fanfuse_corpus_router.domain.naming import lane_name
from fanfuse_corpus_router.domain.sharing import Search

_COMMANDS: Final = TypeAdapter(tuple[RetrieveCommand, ...])
"""Validates all at once: half the time of one model after the other."""


def build_lanes(searches: Sequence[Search], event: QueryClassified) -> tuple[Mapping[str, object], ...]:
    """The lanes of the plan, in order. A shared lane's name and digest are those of all its corpora."""
    names: set[str] = set()
    rows: list[Mapping[str, object]] = []
    tenant, window, condition = event.tenant, event.query.window, canonical(event.query.filter)
    for search in searches:
        wiring, covered, shared = search.lead.wiring, ",".join(search.corpora), search.shared
        name = lane_name(wiring.kind, covered, wiring.backend, names)
        names.add(name)
        row = {
            "name": name,
            "corpus": ALL_CORPORA if shared else covered,
            "corpora": search.corpora if shared else (),
            "kind": wiring.kind,
            "backend": wiring.backend,
            "pool": wiring.pool,
            "weight": search.weight,
            "window": window,
            "filter_digest": digest_of(tenant, covered, condition),
            "requirement": search.requirement,
        }
        rows.append(row)
    return tuple(rows)


def build_commands(
    lanes: Sequence[Lane], searches: Sequence[Search], event: QueryClassified
) -> tuple[RetrieveCommand, ...]:
    """What the workers are told: one command per lane, in the same order."""
    query = event.query
    common = {
        "tenant": event.tenant,
        "query_id": event.query_id,
        "window": query.window,
        "filter": query.filter,
        "submitted_ns": event.submitted_ns,
        "budget_ms": query.budget_ms,
    }
    inputs = [search.lead.input for search in searches]
    commands = _COMMANDS.validate_python(
        [common | _own(lane, found) for lane, found in zip(lanes, inputs, strict=True)]
    )
    return tuple(map(_with_vector, commands, inputs))


def _with_vector(command: RetrieveCommand, found: LaneInput) -> RetrieveCommand:
    """Thousands of numbers that were checked with the query are not walked again for every lane."""
    return command if found.vector is None else command.model_copy(update={"vector": found.vector})


def _own(lane: Lane, found: LaneInput) -> dict[str, object]:
    """Where the commands of a plan differ, vectors aside."""
    return {
        "lane": lane.name,
        "corpus": lane.corpus,
        "corpora": lane.corpora,
        "kind": lane.kind,
        "backend": lane.backend,
        "text": found.text,
        "identifiers": found.identifiers,
        "seeds": found.seeds,
        "filter_digest": lane.filter_digest,
    }
