"""`fanfuse tenants`: who may ask on the bus. Changes the users file; `fanfuse deploy nats` carries it to the server."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fanfuse_cli.console import remark
from fanfuse_cli.deploying import CARRY_OUT, DEFAULT_USERS, Users
from fanfuse_cli.failures import plainly
from fanfuse_cli.options import AsJson, TenantName

tenants_app = typer.Typer(help="Who may ask on the bus; each in an account of its own.", no_args_is_help=True)

SeedFile = Annotated[
    Path | None, typer.Option("--seed", help="New file for the private half; without it, <tenant>.nk.")
]
Key = Annotated[str | None, typer.Option("--key", help="Only this public key; without it, all of them.")]


@tenants_app.command("add")
@plainly
def add(tenant: TenantName, users: Users = DEFAULT_USERS, seed: SeedFile = None) -> None:
    """Give a tenant a key, or one more: then it can change keys without a pause."""
    from fanfuse_all_in_one.deploying.users_file import UsersFile, new_key

    known = UsersFile.read(users)
    file = seed or Path(f"{tenant}.nk")
    key = new_key(file)
    known.with_tenant(tenant, key).write(users)
    print(key)
    remark(
        f"{file} is its only private half: hand it to {tenant}, for FANFUSE_NATS_NKEY, with the bus' address "
        f"(NATS_URL) and its authority's ca.crt (FANFUSE_NATS_CA_FILE); {CARRY_OUT}, twice for a new tenant"
    )


@tenants_app.command("list")
@plainly
def show(users: Users = DEFAULT_USERS, as_json: AsJson = False) -> None:
    """Show the tenants and their public keys."""
    from fanfuse_all_in_one.deploying.users_file import UsersFile

    found = UsersFile.read(users).tenants
    if as_json:
        print(json.dumps(found))
        return
    for tenant, keys in sorted(found.items()):
        for key in keys:
            print(f"{tenant} {key}")


@tenants_app.command("revoke")
@plainly
def revoke(tenant: TenantName, users: Users = DEFAULT_USERS, key: Key = None) -> None:
    """Take a tenant, or one of its keys, out: the server cuts it off when it reads its configuration again."""
    from fanfuse_all_in_one.deploying.users_file import UsersFile

    UsersFile.read(users).without_tenant(tenant, key).write(users)
    left = "" if key else "; its corpora stay until you delete them (`fanfuse delete`)"
    remark(f"{key or tenant} is cut off when the server reads it{left}; {CARRY_OUT}")
