"""`fanfuse deploy`: what a cluster needs of an installation, printed or written; it talks to no cluster."""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanfuse_cli.console import remark
from fanfuse_cli.failures import plainly
from fanfuse_cli.options import DEFAULT_DATA, ConfigFile, DataDir, NatsUrl, running_bus
from fanfuse_contracts import limits
from fanfuse_contracts.config import FanfuseConfig

if TYPE_CHECKING:
    from fanfuse_contracts.enums import Kind

deploy_app = typer.Typer(help="What a cluster needs: streams, users of the bus, workers.", no_args_is_help=True)

Within = Annotated[float, typer.Option("--within", min=0.1, help="Seconds in which the bus has to do all of it.")]
Update = Annotated[
    bool, typer.Option("--update", help="Change what exists with other settings, where no message is lost; name each.")
]
Losing = Annotated[
    list[str] | None,
    typer.Option(
        "--losing",
        metavar="NAME",
        help="With --update: messages of this stream, bucket or STREAM/CONSUMER may be deleted, and it may be made "
        "anew; may be repeated.",
    ),
]
Users = Annotated[
    Path, typer.Option("--users", help="The users file: public keys of services and tenants.", envvar="FANFUSE_USERS")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", dir_okay=False, help="File to write instead; after a failure it stays as it was."),
]
Again = Annotated[
    str | None, typer.Option("--again", metavar="USER", help="Make this service one more key, to change its key.")
]
Without = Annotated[
    str | None,
    typer.Option("--without", metavar="KEY", help="Take this public key of a service out of the users file."),
]
Seeds = Annotated[Path, typer.Option("--seeds", help="Folder for the private halves, one file per service.")]
OneAccount = Annotated[
    bool,
    typer.Option(
        "--one-account",
        help="All tenants in one account instead of one each. They must trust one another then: through the reply "
        "subject of a request, the server itself writes for a tenant whatever it names, such as another's answer.",
    ),
]
Connections = Annotated[
    int | None,
    typer.Option(
        "--tenant-connections",
        min=1,
        help="Connections that a tenant may have at a time.",
        show_default=f"{limits.TENANT_CONNECTIONS:,}",
    ),
]
ForNack = Annotated[bool, typer.Option("--nack", help="A key for NACK too, where that operator makes the streams.")]
Copies = Annotated[int, typer.Option("--replicas", min=1, max=5, help="Copies of every stream and bucket.")]
Least = Annotated[int, typer.Option("--min", help="Fewest replicas of each pool.")]
Most = Annotated[int, typer.Option("--max", help="Most replicas of each pool.")]
Lag = Annotated[int, typer.Option("--lag", help="Commands per replica, waiting or in hand, above which a pool grows.")]
Keda = Annotated[bool, typer.Option("--keda/--no-keda", help="With a KEDA ScaledObject per pool, or two replicas.")]
Image = Annotated[str, typer.Option("--image", help="Image of the workers, with its tag.")]
DEFAULT_USERS = Path("nats-users.yaml")


@deploy_app.command("setup")
@plainly
def setup(
    file: ConfigFile = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
    within: Within = 10.0,
    update: Update = False,
    losing: Losing = None,
) -> None:
    """Create the streams, buckets and consumers of the bus, those of the file's pools too; compare what exists."""
    from fanfuse_all_in_one.deploying.setting_up import set_up
    from fanfuse_all_in_one.failures import OperatorError

    if losing and not update:
        raise OperatorError("--losing says what --update may lose: state both")
    names = frozenset(losing or ())
    work = set_up(running_bus(data, nats_url), _pools(file), within, update=update, losing=names, say=remark)
    for name in asyncio.run(work):
        print(name)


@deploy_app.command("keys")
@plainly
def keys(
    file: ConfigFile = None,
    users: Users = DEFAULT_USERS,
    seeds: Seeds = Path("nats-seeds"),
    nack: ForNack = False,
    again: Again = None,
    without: Without = None,
) -> None:
    """Make a key for every service of the file that has none, or change that of one (--again, then --without)."""
    from fanfuse_all_in_one.deploying.keys import make_missing_keys
    from fanfuse_all_in_one.failures import OperatorError

    if again and without:
        raise OperatorError("--again and --without are two steps: the service takes its new key in between")
    if again or without:
        _change_key(users, seeds, again, without)
        return
    made = make_missing_keys(users, seeds, _pools(file), nack=nack)
    for user in made:
        print(user)
    kept = f"; each seed stands in {seeds} alone: {_KEEP_SEEDS}" if made else ""
    remark(f"{users}: {len(made)} new{kept}")


_KEEP_SEEDS = "keep it as a Secret, then delete it there; but operator.nk stays with you"


def _change_key(users: Path, seeds: Path, again: str | None, without: str | None) -> None:
    from fanfuse_all_in_one.deploying.keys import make_another_key, take_key_away

    if again:
        key, seed = make_another_key(users, seeds, again)
        print(key)
        remark(f"{seed} is its only private half; the old key stays. {CARRY_OUT}, then give {again} the new one")
    elif without:
        remark(f"{users}: {take_key_away(users, without)} has one key less; {CARRY_OUT}")


CARRY_OUT = (
    "next: `fanfuse deploy nats --file fanfuse.yaml --out users.conf`, and have the server read it (deploy/README.md)"
)


@deploy_app.command("nats")
@plainly
def nats(
    file: ConfigFile = None,
    users: Users = DEFAULT_USERS,
    one_account: OneAccount = False,
    connections: Connections = None,
    out: Out = None,
) -> None:
    """Print who may do what on the bus, an account per tenant, as nats-server reads it: `include` it in nats.conf.

    Use --out: what a failed command leaves of a redirection is an empty file, and without users the bus is open.

    After a change have the server read it again, twice where a tenant is new (deploy/README.md, Tenants).
    """
    from fanfuse_all_in_one.deploying.nats_users import left_out, render_account_per_tenant, render_one_account
    from fanfuse_all_in_one.deploying.users_file import UsersFile
    from fanfuse_all_in_one.failures import OperatorError

    if one_account and connections:
        raise OperatorError("--one-account has no limit per tenant: leave --tenant-connections out")
    known, pools = UsersFile.read(users), _pools(file)
    in_accounts = partial(render_account_per_tenant, connections=connections or limits.TENANT_CONNECTIONS)
    _put((render_one_account if one_account else in_accounts)(known, pools), out)
    if idle := left_out(known, pools):
        remark(f"{', '.join(idle)}: a key, but no pool of {file or 'the default configuration'} for it; left out")


@deploy_app.command("nack")
@plainly
def nack(file: ConfigFile = None, replicas: Copies = 3, out: Out = None) -> None:
    """Print the streams, buckets and consumers as resources of NACK, instead of `setup`."""
    from fanfuse_all_in_one.deploying.nack import render_nack

    _put(render_nack(_pools(file), replicas), out)


@deploy_app.command("workers")
@plainly
def workers(
    file: ConfigFile = None,
    least: Least = 2,
    most: Most = 20,
    lag: Lag = limits.WORKER_IN_FLIGHT // 2,
    keda: Keda = True,
    image: Image = "fanfuse/backend-workers:0.1.0",
    out: Out = None,
) -> None:
    """Print the Kubernetes manifests of the workers, one deployment per pool of the file, and how each scales."""
    from fanfuse_all_in_one.deploying.workers import Scaling, render_workers

    scaling = Scaling(least, most, lag) if keda else None
    _put(render_workers(_config(file), scaling, image), out)


def _put(text: str, out: Path | None) -> None:
    from fanfuse_all_in_one.whole_file import write_whole

    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(out, text)


def _config(file: Path | None) -> FanfuseConfig:
    """The file alone: what a shell here states over it (an address that is forwarded, say) no pod reads."""
    from fanfuse_runtime.configfile import load_config
    from fanfuse_runtime.configuration.overrides import stated_variables

    if file is None:
        return FanfuseConfig()
    if over := stated_variables(os.environ):
        remark(f"not read here, for pods have the file without them: {', '.join(over)}")
    return load_config(file, env={})


def _pools(file: Path | None) -> "list[tuple[Kind, str]]":
    from fanfuse_all_in_one.deploying.pools import pools_of

    return [pool.id for pool in pools_of(_config(file))]
