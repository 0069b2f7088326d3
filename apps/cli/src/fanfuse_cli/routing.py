"""`fanfuse route`: shape and route of a text, with no bus, no index and no engine."""

from typing import Annotated, Any

import typer

from fanfuse_cli.console import results
from fanfuse_cli.decisions import render_decision
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.offline import decide_offline
from fanfuse_cli.options import AsJson, ConfigFile, Overrides, PrincipalId, Roles, principal
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import DecideReply, Plan
from fanfuse_contracts.query import SubmittedQuery

Text = Annotated[str, typer.Argument(help="The text of a query.")]
Failures = Annotated[list[Kind] | None, typer.Option("--simulate-failure", help="Count this kind as degraded.")]
NoGraph = Annotated[bool, typer.Option("--no-graph", help="No graph seeds.")]
Pins = Annotated[list[str] | None, typer.Option("--corpus", "-c", help="Only this corpus; may be repeated.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Who asks; not needed where the file has one tenant.")]


@plainly
def route(
    text: Text,
    file: ConfigFile = None,
    overrides: Overrides = None,
    tenant: OfTenant = None,
    corpus: Pins = None,
    simulate_failure: Failures = None,
    no_graph: NoGraph = False,
    principal_id: PrincipalId = None,
    role: Roles = None,
    as_json: AsJson = False,
) -> None:
    """Show which backends a text would be sent to, and why: over the corpora of a file, or over one example corpus
    that is wired with all three kinds."""
    from fanfuse_client.queries import build_query

    fields: dict[str, Any] = {"graph_seeds": ()} if no_graph else {}
    if file is not None:
        if corpus:
            fields["corpora"] = tuple(corpus)
        query = build_query(text, principal(principal_id, role), fields)
        reply = decide_offline(file, tenant, query, simulate_failure or (), overrides or ())
    elif tenant or corpus or principal_id or overrides:
        raise typer.BadParameter("--tenant, --corpus, --principal and --set need corpora: give --file")
    else:
        reply = _example(build_query(text, None, fields), simulate_failure or [], not no_graph)
    if as_json:
        print(reply.to_json().decode())
    else:
        results().print(render_decision(reply), soft_wrap=True)
    if reply.plan is None:
        raise typer.Exit(FAILED)


def _example(query: SubmittedQuery, failed: list[Kind], graph: bool) -> DecideReply:
    from fanfuse_classifier.domain.shape import classify_shape
    from fanfuse_corpus_router.offline import plan_example

    shape = classify_shape(query.text)
    planned = plan_example(query.text, shape, failed=failed, graph=graph)
    found = {"plan": planned} if isinstance(planned, Plan) else {"rejection": planned}
    return DecideReply.model_validate({"classification": shape, **found})
