"""`fanfuse up`: services in this process."""

from typing import Annotated

import typer

from fanfuse_cli.failures import plainly
from fanfuse_cli.options import DEFAULT_DATA, ConfigFile, DataDir, NatsUrl, Overrides, stated_config, stated_url
from fanfuse_contracts.enums import Stage

Only = Annotated[str, typer.Option("--only", help="Services to run, separated by commas; all without it.")]
Port = Annotated[int, typer.Option(help="Port of the bus that is started here; 0: a free one.", min=0, max=65_535)]
OpsPort = Annotated[int, typer.Option(help="Port of /healthz, /readyz and /metrics; 0: a free one.", min=0, max=65_535)]
LogLevel = Annotated[str, typer.Option(help="debug, info, warning or error.", envvar="FANFUSE_LOG_LEVEL")]


@plainly
def up(
    only: Only = "",
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
    port: Port = 0,
    ops_port: OpsPort = 0,
    file: ConfigFile = None,
    overrides: Overrides = None,
    log_level: LogLevel = "warning",
) -> None:
    """Run the services in this process until Ctrl-C, with a bus of its own unless one is given or runs already."""
    from fanfuse_all_in_one.up import UpOptions, run_up
    from fanfuse_runtime.logs import configure_logs

    try:
        configure_logs(log_level)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    options = UpOptions(data, stated_url(nats_url), _stages(only), port, ops_port, stated_config(file, overrides))
    run_up(options, lambda line: print(line, flush=True))


def _stages(only: str) -> tuple[Stage, ...]:
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = [stage.value for stage in Stage]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise typer.BadParameter(f"no service {', '.join(unknown)}: choose from {', '.join(known)}")
    return tuple(Stage(name) for name in names)
