"""`fanfuse config check` and `fanfuse config show`: the operator's file, before a process starts with it."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanfuse_cli.console import remark
from fanfuse_cli.failures import USAGE, plainly
from fanfuse_cli.options import AsJson, Overrides

if TYPE_CHECKING:
    from fanfuse_runtime.configfile import LoadedConfig

config_app = typer.Typer(help="The operator's file fanfuse.yaml.", no_args_is_help=True)

ConfigPath = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", help="The operator's fanfuse.yaml; without it, the defaults.", envvar="FANFUSE_CONFIG_FILE"
    ),
]
WithOrigin = Annotated[bool, typer.Option("--origin", help="Say of each value what stated it.")]


@config_app.command("check")
@plainly
def check(file: ConfigPath = None, set_: Overrides = None) -> None:
    """Report every fault of a configuration with file, line and key; exit 2 if a process would not start with it."""
    from fanfuse_all_in_one.configuration import check_all
    from fanfuse_runtime.configuration.findings import Level

    name = "the configuration" if file is None else str(file)
    findings = check_all(_read(file, set_), os.environ)
    print("".join(f"{finding}\n" for finding in findings), end="")
    found = Counter(finding.level for finding in findings)
    remark(f"{name}: {_counted(found[Level.ERROR], 'error')}, {_counted(found[Level.WARNING], 'warning')}")
    if found[Level.ERROR]:
        raise typer.Exit(USAGE)


@config_app.command("show")
@plainly
def show(file: ConfigPath = None, set_: Overrides = None, origin: WithOrigin = False, as_json: AsJson = False) -> None:
    """Print the effective configuration, secrets masked."""
    from fanfuse_runtime.configuration.findings import show as path_text
    from fanfuse_runtime.configuration.rendering import plain, render, value_origins

    loaded = _read(file, set_)
    if not as_json:
        print(render(loaded.config, loaded.origin if origin else None), end="")
    elif origin:
        origins = {path_text(path): told for path, told in value_origins(loaded.config, loaded.origin).items()}
        print(json.dumps({"config": plain(loaded.config), "origin": origins}, ensure_ascii=False))
    else:
        print(json.dumps(plain(loaded.config), ensure_ascii=False))


def _read(file: Path | None, flags: list[str] | None) -> "LoadedConfig":
    """The configuration; with errors, each on a line of its own, and the command ends."""
    from fanfuse_runtime.configfile import ConfigError, read_config

    try:
        return read_config(file, flags=flags or ())
    except ConfigError as error:
        print(error)
        told = _counted(len(str(error).splitlines()), "error")
        remark(
            f"{'the configuration' if file is None else file}: {told}, to be put right before it can be checked further"
        )
        raise typer.Exit(USAGE) from None


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
