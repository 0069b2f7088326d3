"""`fanfuse ask` and `fanfuse decide`: through the bus, as any caller would."""

import asyncio
import json
import sys
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
    Roles,
    Tenant,
    principal,
    running_bus,
)
from fanfuse_client import Client
from fanfuse_contracts import limits
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.plan import DecideReply

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
    principal_id: PrincipalId = None,
    role: Roles = None,
    as_json: AsJson = False,
    trace: Trace = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Ask a query and show its one answer."""
    fields = _fields(corpus, filter_json, seed, no_graph) | {"top_k": top_k, "offset": offset, "budget_ms": budget_ms}
    who = principal(principal_id, role)

    async def run(url: str) -> Answer:
        async with Client(url, tenant, principal=who) as client:
            return await client.ask(_text(text), **fields)

    answer = asyncio.run(run(running_bus(data, nats_url)))
    if as_json:
        print(answer.to_json().decode())
    else:
        results().print(render_answer(answer, trace=trace))
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
    principal_id: PrincipalId = None,
    role: Roles = None,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Show what would be done with a query, without doing it."""
    fields = _fields(corpus, filter_json, seed, no_graph)
    who = principal(principal_id, role)

    async def run(url: str) -> DecideReply:
        async with Client(url, tenant, principal=who) as client:
            return await client.decide(_text(text), **fields)

    reply = asyncio.run(run(running_bus(data, nats_url)))
    if as_json:
        print(reply.to_json().decode())
    else:
        results().print(render_decision(reply))
    if reply.plan is None:
        raise typer.Exit(FAILED)


def _text(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _fields(
    corpora: list[str] | None, filter_json: str | None, seeds: list[str] | None, no_graph: bool
) -> dict[str, Any]:
    if seeds and no_graph:
        raise typer.BadParameter("--seed and --no-graph exclude each other")
    fields: dict[str, Any] = {}
    if corpora:
        fields["corpora"] = tuple(corpora)
    if seeds or no_graph:
        fields["graph_seeds"] = tuple(seeds or ())
    if filter_json is not None:
        try:
            fields["filter"] = json.loads(filter_json)
        except ValueError as error:
            raise typer.BadParameter(f"--filter is not JSON: {error}") from error
    return fields
