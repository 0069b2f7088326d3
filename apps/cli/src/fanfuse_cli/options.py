"""Options that several commands share, and how a command finds its bus."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from fanfuse_all_in_one.databus import BusUnavailableError, find_bus
from fanfuse_contracts import limits
from fanfuse_contracts.access import Access
from fanfuse_contracts.addresses import InvalidAddressError, checked_addresses
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.query import Principal
from fanfuse_contracts.tokens import InvalidTokenError, check_token

URL_VARIABLE = "NATS_URL"


def _token(value: str | None) -> str | None:
    try:
        return value if value is None else check_token(value)
    except InvalidTokenError as error:
        raise typer.BadParameter(str(error)) from error


def _address(value: str | None) -> str | None:
    try:
        return checked_addresses(value) if value else value
    except InvalidAddressError as error:
        raise typer.BadParameter(str(error)) from error


Tenant = Annotated[str, typer.Option("--tenant", help="Who owns the corpora and asks.", callback=_token)]
TenantName = Annotated[str, typer.Argument(help="The tenant.", callback=_token)]
Corpus = Annotated[str, typer.Option("--corpus", help="Name of the corpus.", callback=_token)]
DataDir = Annotated[
    Path,
    typer.Option("--data", help="Indexes, embedding cache and bus of this installation.", envvar="FANFUSE_DATA_DIR"),
]
NatsUrl = Annotated[
    str | None,
    typer.Option(
        "--nats-url",
        help="A bus that somebody else runs; without it, that of --data.",
        envvar=URL_VARIABLE,
        callback=_address,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--file", "-f", help="The operator's fanfuse.yaml.", exists=True, dir_okay=False),
]
QueryIdOption = Annotated[
    str | None,
    typer.Option("--query-id", help="Id of your own; asked again, it has the stored answer.", callback=_token),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="State a value over environment and file; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON of the contract and nothing else.")]
PrincipalId = Annotated[
    str | None, typer.Option("--principal", help="Who asks. Without it only public corpora are visible.")
]
Roles = Annotated[list[str] | None, typer.Option("--role", help="Role of the principal; may be repeated.")]

DEFAULT_DATA = Path(".fanfuse")


def stated_url(nats_url: str | None) -> str | None:
    """The URL as stated; a blank one counts as not stated."""
    return nats_url or os.environ.get(URL_VARIABLE) or None


def stated_config(file: Path | None, overrides: list[str] | None = None) -> FanfuseConfig | None:
    """The configuration as stated; None: what the environment says, as for a service. Raises `ConfigError`."""
    if file is None and not overrides:
        return None
    from fanfuse_runtime.configfile import load_config
    from fanfuse_runtime.settings import RuntimeSettings

    return load_config(file or RuntimeSettings().config_file, flags=overrides or ())


def parsed_filter(text: str) -> Any:
    """The value of --filter; raises a usage error for what is no JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--filter is not JSON: {error}") from error
    except RecursionError as error:
        raise typer.BadParameter(f"--filter is nested deeper than {limits.MAX_FILTER_DEPTH} levels") from error


def stated_access() -> Access:
    """Who this command is on the bus: `FANFUSE_NATS_USER`, `FANFUSE_NATS_NKEY` and their like, as for a service."""
    from fanfuse_runtime.settings import RuntimeSettings

    return RuntimeSettings().access()


def running_bus(data_dir: Path, nats_url: str | None) -> str:
    """URL of the bus to talk to; raises `BusUnavailableError` if none runs."""
    url = stated_url(nats_url)
    if url is not None:
        return url
    found = find_bus(data_dir)
    if found is None:
        raise BusUnavailableError(
            f"nothing runs on {data_dir}: start it with `fanfuse up` in another terminal, or give --nats-url"
        )
    return found.url


def principal(identity: str | None, roles: list[str] | None) -> Principal | None:
    """Who asks; raises a usage error for roles without a principal."""
    if identity is None and roles:
        raise typer.BadParameter("--role needs --principal")
    return None if identity is None else Principal(id=identity, roles=frozenset(roles or ()))
