"""The users file: public keys of everyone who may connect to the bus, by service and by tenant.

In: a YAML file that can be shown to anybody. Out: the same with keys added or taken away. A seed (the private half) is
written once, into a file of its own that only its owner can read, and is never kept here.
"""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

import nkeys
import yaml
from pydantic import Field, ValidationError

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.whole_file import write_whole
from fanfuse_client.queries import explain
from fanfuse_contracts.base import Written
from fanfuse_contracts.tokens import Token

PublicKey = Annotated[str, Field(pattern=r"^U[A-Z2-7]{55}$")]
Keys = Annotated[tuple[PublicKey, ...], Field(min_length=1, max_length=16)]


class UsersFile(Written):
    """Who may connect. Several keys of one user let it change its key without a pause."""

    services: dict[str, Keys] = {}
    """By user, such as `FUSER`; the setup step and the operator's commands are users too."""
    tenants: dict[Token, Keys] = {}

    @classmethod
    def read(cls, path: Path) -> Self:
        """The file; empty where there is none yet. Raises `OperatorError`."""
        if not path.parent.is_dir():  # told before a key is made that could not be entered
            raise OperatorError(f"{path.parent} is no folder: make it first, or name another users file")
        try:
            return cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
        except FileNotFoundError:
            return cls()
        except UnicodeDecodeError as error:
            raise OperatorError(f"{path} is no users file: byte {error.start} is not UTF-8") from error
        except ValidationError as error:
            raise OperatorError(f"{path} is no users file: {explain(error)}") from error
        except yaml.YAMLError as error:
            raise OperatorError(f"{path} is no users file: {error}") from error

    def write(self, path: Path) -> None:
        """Replace the file in one step."""
        write_whole(path, yaml.safe_dump(self.model_dump(mode="json"), sort_keys=True))

    def with_service(self, user: str, key: str) -> Self:
        """The file with one more key of a service."""
        return self._with("services", user, (*self.services.get(user, ()), key))

    def without_service_key(self, user: str, key: str) -> Self:
        """The file without this key of a service. Raises `OperatorError` for its last one: it could not run."""
        kept = tuple(one for one in self.services[user] if one != key)
        if not kept:
            raise OperatorError(f"{key} is the last key of {user}: give it another one first")
        return self._with("services", user, kept)

    def with_tenant(self, tenant: str, key: str) -> Self:
        """The file with one more key of a tenant."""
        return self._with("tenants", tenant, (*self.tenants.get(tenant, ()), key))

    def without_tenant(self, tenant: str, key: str | None = None) -> Self:
        """The file without a key of a tenant (None: without the tenant). Raises `OperatorError` for an unknown one."""
        keys = self.tenants.get(tenant)
        if keys is None:
            raise OperatorError(f"{tenant} is no tenant of this file")
        if key is not None and key not in keys:
            raise OperatorError(f"{key} is no key of {tenant}")
        return self._with("tenants", tenant, () if key is None else tuple(one for one in keys if one != key))

    def missing(self, users: Iterable[str]) -> list[str]:
        """Those of these services that have no key yet."""
        return [user for user in users if user not in self.services]

    def _with(self, section: str, name: str, keys: tuple[str, ...]) -> Self:
        stated = {**getattr(self, section), name: keys}
        kept = {one: values for one, values in stated.items() if values}
        return type(self).model_validate({**self.model_dump(), section: kept})


def new_key(seed_file: Path) -> str:
    """Make a key pair: the seed goes into a new file that only its owner can read; returns the public key.

    Raises `OperatorError` where the file exists: it may be somebody's only key.
    """
    seed = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)
    try:
        descriptor = os.open(seed_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise OperatorError(f"{seed_file} exists: a key is never written over another") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(seed)
    public: bytes = nkeys.from_seed(bytearray(seed)).public_key
    return public.decode()
