"""Keys of the services: made once for whoever has none. In: the users file and the pools. Out: seeds, one file each."""

from collections.abc import Iterable
from pathlib import Path

from fanfuse_all_in_one.deploying.users_file import UsersFile, new_key
from fanfuse_contracts import permissions
from fanfuse_contracts.enums import Kind


def make_missing_keys(path: Path, seeds: Path, pools: Iterable[tuple[Kind, str]], *, nack: bool = False) -> list[str]:
    """Give each service without a key one, its seed in `<seeds>/<user>.nk`; returns their users. `nack`: to NACK too.

    The users file is written after each, so an interrupted run is completed by the next. Raises `OperatorError`.
    """
    users = UsersFile.read(path)
    wanted = [one.user for one in permissions.of_everyone(pools, ())]
    missing = users.missing([*wanted, permissions.NACK] if nack else wanted)
    seeds.mkdir(parents=True, exist_ok=True, mode=0o700)
    for user in missing:
        users = users.with_service(user, new_key(seeds / seed_name(user)))
        users.write(path)
    return missing


def seed_name(user: str) -> str:
    """Name of the file with a service's seed."""
    return f"{user.lower()}.nk"
