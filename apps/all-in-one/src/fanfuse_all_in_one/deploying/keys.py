"""Keys of the services: made once for whoever has none, one more to change a key. Seeds go into files, one each.

In: the users file and the pools. Out: both changed; a seed is never written over another.
"""

from collections.abc import Iterable
from pathlib import Path

from fanfuse_all_in_one.deploying.users_file import UsersFile, new_key
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import permissions
from fanfuse_contracts.enums import Kind


def make_missing_keys(path: Path, seeds: Path, pools: Iterable[tuple[Kind, str]], *, nack: bool = False) -> list[str]:
    """Give each service without a key one, its seed in `<seeds>/<user>.nk`; returns their users. `nack`: to NACK too.

    The users file is written after each, so an interrupted run is completed by the next. Raises `OperatorError`.
    """
    users = UsersFile.read(path)
    wanted = [one.user for one in permissions.of_everyone(pools, ())]
    missing = users.missing([*wanted, permissions.NACK] if nack else wanted)
    _make_folder(seeds)
    for user in missing:
        users = users.with_service(user, new_key(seeds / seed_name(user)))
        users.write(path)
    return missing


def make_another_key(path: Path, seeds: Path, user: str) -> tuple[str, Path]:
    """A second key beside those that a service has; returns it and its seed's file, one that was not there.

    Raises `OperatorError` for who has none yet.
    """
    users = UsersFile.read(path)
    if user not in users.services:
        raise OperatorError(
            f"{user} is no service with a key in {path}: {', '.join(sorted(users.services)) or 'none'} is"
        )
    _make_folder(seeds)
    seed = _free(seeds, user)
    key = new_key(seed)
    users.with_service(user, key).write(path)
    return key, seed


def take_key_away(path: Path, key: str) -> str:
    """The users file without a key of a service, which has another; returns the service. Raises `OperatorError`."""
    users = UsersFile.read(path)
    user = next((user for user, keys in users.services.items() if key in keys), None)
    if user is None:
        raise OperatorError(f"{key} is no key of a service in {path}")
    users.without_service_key(user, key).write(path)
    return user


def seed_name(user: str) -> str:
    """Name of the file with a service's seed."""
    return f"{user.lower()}.nk"


def _make_folder(seeds: Path) -> None:
    seeds.mkdir(parents=True, exist_ok=True, mode=0o700)


def _free(seeds: Path, user: str) -> Path:
    first = seeds / seed_name(user)
    number = 1
    while (seed := first if number == 1 else first.with_stem(f"{first.stem}-{number}")).exists():
        number += 1
    return seed
