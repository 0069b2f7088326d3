"""`fanfuse corpus route` and `fanfuse corpus seed`: which corpora a text is for, and what the registry should hold."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from fanfuse_cli.console import remark, results
from fanfuse_cli.decisions import outcome_lines
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.offline import decide_offline
from fanfuse_cli.options import (
    DEFAULT_DATA,
    AsJson,
    ConfigFile,
    DataDir,
    NatsUrl,
    Overrides,
    PrincipalId,
    Roles,
    parsed_filter,
    principal,
    running_bus,
    stated_access,
    stated_url,
)
from fanfuse_cli.routing import OfTenant, Pins, Text
from fanfuse_contracts.plan import CorpusRoutingDecision, DecideReply

Prune = Annotated[bool, typer.Option("--prune", help="Delete corpora of these tenants that the file does not name.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


@plainly
def route_corpora(
    text: Text,
    file: ConfigFile = None,
    overrides: Overrides = None,
    tenant: OfTenant = None,
    corpus: Pins = None,
    filter_json: Annotated[str | None, typer.Option("--filter", help="As for `fanfuse ask`.")] = None,
    principal_id: PrincipalId = None,
    role: Roles = None,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Show which corpora a text would be searched in, and why: those of a file, or those that are registered."""
    fields: dict[str, Any] = {"corpora": tuple(corpus)} if corpus else {}
    if filter_json is not None:
        fields["filter"] = parsed_filter(filter_json)
    who = principal(principal_id, role)
    from fanfuse_client import Client
    from fanfuse_client.queries import build_query

    if file is not None:
        reply = decide_offline(file, tenant, build_query(text, who, fields), overrides=overrides or ())
    elif overrides:
        raise typer.BadParameter("--set needs --file: what runs has its own configuration")
    elif tenant is None:
        raise typer.BadParameter("give --file, or --tenant to ask what runs")
    else:

        async def run(url: str, of_tenant: str) -> DecideReply:
            async with Client(url, of_tenant, principal=who, access=stated_access()) as client:
                return await client.decide(text, **fields)

        reply = asyncio.run(run(running_bus(data, nats_url), tenant))
    if as_json:
        print(reply.to_json().decode())
    else:
        results().print(render_corpus_decision(reply))
    if reply.plan is None:
        raise typer.Exit(FAILED)


def render_corpus_decision(reply: DecideReply) -> RenderableType:
    """Strategies, then one row per candidate; or what is missing, or why the query is refused."""
    parts: list[RenderableType] = [escape(line) for line in outcome_lines(reply)]
    if reply.plan is not None:
        decision = reply.plan.corpus_decision
        parts.append(
            f"strategy {decision.strategy.value} (configured: {decision.configured.value}) · "
            f"{len(decision.selected_corpora)} of {decision.candidate_n} corpora · "
            f"fan_out {'on' if decision.fan_out else 'off'}"
        )
        parts += [escape(f"because {decision.reason}"), _candidates(decision)]
        parts += [
            escape(f"not confirmed: {one.corpus} ({one.reason.value}): {one.message}") for one in reply.plan.unconfirmed
        ]
    return Group(*parts)


def _candidates(decision: CorpusRoutingDecision) -> Table:
    table = Table("", "corpus", "score", "probability", "reason", box=None, pad_edge=False)
    for row in decision.scores:
        mark = "✓" if row.selected else "·"
        table.add_row(mark, row.corpus, f"{row.score:.3f}", f"{row.probability:.3f}", escape(row.reason))
    return table


@plainly
def seed(
    file: Annotated[Path, typer.Option("--file", "-f", help="The operator's fanfuse.yaml.", exists=True)],
    overrides: Overrides = None,
    prune: Prune = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Write the corpora of a file to the registry. What `index` wrote there (index, chunks, time) is kept,
    and who may read a corpus where the file states neither `public` nor `readers`."""
    from fanfuse_all_in_one.databus import data_bus
    from fanfuse_all_in_one.operating import operator_on
    from fanfuse_all_in_one.seeding import SeedReport, seed_corpora
    from fanfuse_runtime.configfile import load_config

    config = load_config(file, flags=overrides or ())

    async def run(url: str, alone: bool) -> SeedReport:
        async with operator_on(url, alone=alone, config=config, data_dir=data) as operator:
            return await seed_corpora(operator, config, prune=prune, dry_run=dry_run)

    with data_bus(data, stated_url(nats_url), announce=False, say=remark) as bus:
        report = run_until_signal(run(bus.url, bus.server is not None))
    rows = [{"corpus": row.name, "change": row.change.value, "fields": list(row.fields)} for row in report.rows]
    if as_json:
        print(json.dumps(rows))
        return
    for row in report.rows:
        print(f"{row.change.value} {row.name}" + (f": {', '.join(row.fields)}" if row.fields else ""))
    if dry_run:
        remark("nothing was changed (--dry-run)")
