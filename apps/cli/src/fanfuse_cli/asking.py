"""`fanfuse ask` and `fanfuse decide`: through the bus, as any caller would."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fanfuse_cli.answers import ANSWERED, render_answer
from fanfuse_cli.console import results
from fanfuse_cli.decisions import render_decision
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.options import (
    DEFAULT_DATA,
    AsJson,
    DataDir,
    NatsUrl,
    PrincipalId,
    QueryIdOption,
    Roles,
    Tenant,
    parsed_filter,
    principal,
    running_bus,
    stated_access,
)
from fanfuse_contracts import limits
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.plan import DecideReply
from fanfuse_contracts.query import Principal, StickyDecision
from fanfuse_contracts.sticky import sticky_of

Text = Annotated[str, typer.Argument(help="What to ask; - reads standard input.")]
Pins = Annotated[list[str] | None, typer.Option("--corpus", help="Search this corpus only; may be repeated.")]
TopK = Annotated[int, typer.Option(help="Hits to show.")]
Offset = Annotated[int, typer.Option(help="Hits to skip.")]
BudgetMs = Annotated[int, typer.Option(help="Milliseconds until the answer is due.")]
FilterJson = Annotated[
    str | None, typer.Option("--filter", help='JSON such as {"field": "lang", "op": "eq", "value": "de"}.')
]
Seeds = Annotated[list[str] | None, typer.Option("--seed", help="Entity to start the graph from; may be repeated.")]
NoGraph = Annotated[bool, typer.Option("--no-graph", help="No graph seeds: no graph lane.")]
Capability = Annotated[str | None, typer.Option(help="Which of a clarification's options is meant.")]
Like = Annotated[
    Path | None,
    typer.Option("--like", help="Stay with the corpora and weights of this answer (ask --json).", exists=True),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--principal-token", help="A signed principal (JWT) instead of --principal.", envvar="FANFUSE_PRINCIPAL_TOKEN"
    ),
]
Trace = Annotated[bool, typer.Option("--trace", help="Show the hops and the timings of the lanes.")]


@plainly
def ask(
    text: Text,
    tenant: Tenant,
    corpus: Pins = None,
    top_k: TopK = limits.DEFAULT_TOP_K,
    offset: Offset = 0,
    budget_ms: BudgetMs = limits.DEFAULT_BUDGET_MS,
    filter_json: FilterJson = None,
    seed: Seeds = None,
    no_graph: NoGraph = False,
    capability: Capability = None,
    like: Like = None,
    principal_id: PrincipalId = None,
    role: Roles = None,
    principal_token: Token = None,
    query_id: QueryIdOption = None,
    as_json: AsJson = False,
    trace: Trace = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Ask a query and show its one answer."""
    fields = _fields(corpus, filter_json, seed, no_graph, capability, like) | {
        "top_k": top_k,
        "offset": offset,
        "budget_ms": budget_ms,
    }
    who = _principal(principal_id, role, principal_token)
    from fanfuse_client import Client

    async def run(url: str) -> Answer:
        async with Client(url, tenant, principal=who, access=stated_access()) as client:
            return await client.ask(_text(text), query_id=query_id, principal_token=principal_token or None, **fields)

    answer = asyncio.run(run(running_bus(data, nats_url)))
    if as_json:
        print(answer.to_json().decode())
    else:
        results().print(render_answer(answer, trace=trace))
        results().print(f"query id {answer.query_id} (`fanfuse explain` tells why)")
    if answer.status not in ANSWERED:
        raise typer.Exit(FAILED)


@plainly
def decide(
    text: Text,
    tenant: Tenant,
    corpus: Pins = None,
    filter_json: FilterJson = None,
    seed: Seeds = None,
    no_graph: NoGraph = False,
    capability: Capability = None,
    like: Like = None,
    principal_id: PrincipalId = None,
    role: Roles = None,
    principal_token: Token = None,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Show what would be done with a query, without doing it."""
    fields = _fields(corpus, filter_json, seed, no_graph, capability, like)
    who = _principal(principal_id, role, principal_token)
    from fanfuse_client import Client

    async def run(url: str) -> DecideReply:
        async with Client(url, tenant, principal=who, access=stated_access()) as client:
            return await client.decide(_text(text), principal_token=principal_token or None, **fields)

    reply = asyncio.run(run(running_bus(data, nats_url)))
    if as_json:
        print(reply.to_json().decode())
    else:
        results().print(render_decision(reply))
    if reply.plan is None:
        raise typer.Exit(FAILED)


def _text(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _principal(identity: str | None, roles: list[str] | None, token: str | None) -> Principal | None:
    if token and identity is not None:
        raise typer.BadParameter("--principal and --principal-token exclude each other")
    return principal(identity, roles)


def _fields(
    corpora: list[str] | None,
    filter_json: str | None,
    seeds: list[str] | None,
    no_graph: bool,
    capability: str | None,
    like: Path | None,
) -> dict[str, Any]:
    if seeds and no_graph:
        raise typer.BadParameter("--seed and --no-graph exclude each other")
    if corpora and like:
        raise typer.BadParameter("--corpus and --like both say where to search")
    fields: dict[str, Any] = {}
    if corpora:
        fields["corpora"] = tuple(corpora)
    if seeds or no_graph:
        fields["graph_seeds"] = tuple(seeds or ())
    if filter_json is not None:
        fields["filter"] = parsed_filter(filter_json)
    if capability is not None:
        fields["capability"] = capability
    if like is not None:
        fields["decision"] = _decision(like)
    return fields


def _decision(path: Path) -> StickyDecision:
    try:
        return sticky_of(Answer.from_json(path.read_bytes()).decisions)
    except ValueError as error:
        raise typer.BadParameter(f"--like {path} is no answer with a decision in it: {error}") from error
