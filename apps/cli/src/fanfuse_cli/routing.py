"""`fanfuse route`: shape and route of a text, with no bus, no index and no engine."""

from typing import Annotated

import typer

from fanfuse_cli.console import results
from fanfuse_cli.decisions import render_decision
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.options import AsJson
from fanfuse_client.queries import build_query
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import DecideReply, Plan

Text = Annotated[str, typer.Argument(help="The text of a query.")]
Failures = Annotated[list[Kind] | None, typer.Option("--simulate-failure", help="Count this kind as degraded.")]
NoGraph = Annotated[bool, typer.Option("--no-graph", help="No graph seeds.")]


@plainly
def route(text: Text, simulate_failure: Failures = None, no_graph: NoGraph = False, as_json: AsJson = False) -> None:
    """Show how a text would be routed over one corpus that is wired with all three kinds."""
    from fanfuse_classifier.domain.shape import classify_shape
    from fanfuse_corpus_router.offline import plan_example

    query = build_query(text, None, {})
    shape = classify_shape(query.text)
    planned = plan_example(query.text, shape, failed=simulate_failure or (), graph=not no_graph)
    found = {"plan": planned} if isinstance(planned, Plan) else {"rejection": planned}
    reply = DecideReply.model_validate({"classification": shape, **found})
    if as_json:
        print(reply.to_json().decode())
    else:
        results().print(render_decision(reply), soft_wrap=True)
    if reply.plan is None:
        raise typer.Exit(FAILED)
