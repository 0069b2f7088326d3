"""The `fanfuse` command and its subcommands."""

import typer

from fanfuse_cli import (
    asking,
    config,
    corpora,
    deadletters,
    deploying,
    evaluating,
    explaining,
    health,
    routing,
    running,
    status,
    tenants,
    training,
)
from fanfuse_cli.demo.command import demo

app = typer.Typer(
    name="fanfuse",
    help="Federated retrieval on an event bus: one query, every corpus and backend, one explained answer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(running.up)
app.command()(corpora.index)
app.command()(corpora.delete)
app.command()(asking.ask)
app.command()(asking.decide)
app.command()(explaining.explain)
app.command()(routing.route)
app.command()(status.status)
app.command()(demo)
app.command("eval")(evaluating.evaluate)
app.add_typer(corpora.corpus_app, name="corpus")
app.add_typer(training.routing_app, name="routing")
app.add_typer(deadletters.deadletter_app, name="deadletter")
app.add_typer(config.config_app, name="config")
app.add_typer(health.health_app, name="health")
app.add_typer(deploying.deploy_app, name="deploy")
app.add_typer(tenants.tenants_app, name="tenants")
