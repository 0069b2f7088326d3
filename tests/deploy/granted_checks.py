"""Who may connect to the bus, and what each of them may do there: users.conf grants what contracts do, and to no other.

In: the objects of an overlay, users.conf among them. Out: one line per fault, with the user or account that has it.
Never knows whose a key is: only the users file does (nats-users.yaml), which is not rendered.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT, render_account_per_tenant, render_one_account
from fanfuse_all_in_one.deploying.users_file import UsersFile
from fanfuse_contracts import limits, permissions
from fanfuse_contracts.tokens import check_token
from tests.deploy.manifests import Cluster
from tests.deploy.nats_conf import has_users, lines_of, stated

_ACCOUNTS: Final = re.compile(r"^accounts:\s*", re.MULTILINE)
_INBOX: Final = re.compile(r"_INBOX_([^.]+)\.>")
_ANY_KEY: Final = ("U" + "A" * 55,)
_WAYS: Final = ("publish", "subscribe")
_APART: Final = frozenset({"users", "jetstream"})
"""Of an account: users one by one, and JetStream by a check of its own."""
Accounts = dict[str, dict[str, Any]]


def users_are_who_contracts_name(cluster: Cluster) -> Iterator[str]:
    """Each once at the least (a user that changes its key has two), and beside them nobody."""
    if not has_users(cluster):
        return
    if anybody := stated(cluster, "users.conf", "no_auth_user"):
        yield f"users.conf states no_auth_user {anybody} beside users: whoever has no key is let in"
    found = _read(lines_of(cluster, "users.conf"))
    if found is None:
        yield "users.conf can't be read: make it again (`fanfuse deploy nats --out`)"
    elif ACCOUNT in found and (strange := [name for name in found if name != ACCOUNT and not _is_tenant(name)]):
        yield f"users.conf has the accounts {strange}, which no tenant can have"
    elif ACCOUNT in found:
        wanted = _wanted(cluster, found)
        for account in found:
            yield from _compared_users(account, found[account], wanted[account])
            yield from _compared_parts(account, found[account], wanted[account])


def keys_are_of_one_user(cluster: Cluster) -> Iterator[str]:
    """A server that starts refuses a key that is there twice, and one that runs goes on with the file before."""
    found = _read(lines_of(cluster, "users.conf")) or {} if has_users(cluster) else {}
    rows = [(row.get("nkey"), account, _called(row)) for account in found for row in found[account].get("users", ())]
    counted = Counter(key for key, _, _ in rows)
    for key in sorted(str(key) for key, count in counted.items() if count > 1):
        yield f"users.conf has the key {key} twice: of {[called for one, _, called in rows if one == key]}"


def _read(text: str) -> Accounts | None:
    """The accounts as `fanfuse deploy nats` writes them, which is JSON."""
    start = _ACCOUNTS.search(text)
    try:
        accounts: Accounts = json.JSONDecoder().raw_decode(text, start.end())[0] if start else {}
    except json.JSONDecodeError:
        return None
    return accounts


def _is_tenant(name: str) -> bool:
    try:
        check_token(name, "tenant")
    except ValueError:
        return False
    return True


def _called(row: Mapping[str, Any]) -> str:
    """The user that a row is for: each has an inbox of its name. Empty: nobody that contracts know."""
    heard = _allowed(row.get("permissions", {}), "subscribe")
    named = [found[1] for found in map(_INBOX.fullmatch, heard) if found]
    return next(iter(named), permissions.NACK if "_INBOX.>" in heard else "")


def _allowed(granted: Mapping[str, Any], way: str) -> list[str]:
    """One subject or a list of them, as nats-server takes both, with `allow` or without."""
    found = granted.get(way, [])
    found = found.get("allow", []) if isinstance(found, dict) else found
    return [found] if isinstance(found, str) else list(found)


def _wanted(cluster: Cluster, found: Accounts) -> Accounts:
    """The same users with what contracts grant, as the command renders it."""
    pools = [pool.id for pool in cluster.pools.values()]
    inside = {_called(row) for row in found[ACCOUNT].get("users", ())}
    services = {one.user for one in permissions.of_everyone(pools, ())} | (inside & {permissions.NACK})
    apart = found.keys() - {ACCOUNT}
    tenants = apart or {name for name in inside - services if name == name.lower() and _is_tenant(name)}
    users = UsersFile(services=dict.fromkeys(services, _ANY_KEY), tenants=dict.fromkeys(tenants, _ANY_KEY))
    if not apart and "exports" not in found[ACCOUNT]:
        return _read(render_one_account(users, pools)) or {}
    most = [found[name].get("limits", {}).get("max_connections") for name in sorted(apart)]
    connections = next((one for one in most if one), limits.TENANT_CONNECTIONS)
    return _read(render_account_per_tenant(users, pools, connections)) or {}


def _compared_users(account: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    grants = {_called(row): row["permissions"] for row in wanted["users"]}
    rows = found.get("users", ())
    for missing in sorted(grants.keys() - {_called(row) for row in rows}):
        yield f"users.conf lacks the user {missing} of the account {account}: it is not let in"
    for row in rows:
        called, key = _called(row), row.get("nkey")
        if key is None:
            yield f"users.conf lets a user {row.get('user')} of the account {account} in without a key"
        elif called not in grants:
            who = f"{called or 'somebody'} ({key})"
            yield f"users.conf lets {who} into the account {account}: by these rights no user that is needed here"
        elif _sorted(row["permissions"]) != _sorted(grants[called]):
            differs = _differences(row["permissions"], grants[called])
            yield f"users.conf gives {called} other rights than contracts: {differs}"


def _sorted(value: Any) -> Any:
    """Lists in one order, for to the server none counts."""
    if isinstance(value, dict):
        return {key: _sorted(one) for key, one in value.items()}
    return sorted(map(_sorted, value), key=str) if isinstance(value, list) else value


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """What one of both allows; other fields by their names."""
    told = [key for key in sorted(found.keys() | wanted.keys()) if found.get(key) != wanted.get(key)]
    lists = {way: (_allowed(found, way), _allowed(wanted, way)) for way in _WAYS}
    more = [f"more {key} {one}" for key, (has, may) in lists.items() for one in has if one not in may]
    less = [f"no {key} {one}" for key, (has, may) in lists.items() for one in may if one not in has]
    return [*more, *less] or told


def _compared_parts(account: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """What an account shows to others, takes from them, and may have at a time."""
    for part in sorted((found.keys() | wanted.keys()) - _APART):
        if _sorted(found.get(part)) != _sorted(wanted.get(part)):
            yield f"users.conf gives the account {account} other {part} than contracts"


GRANTED: Final = (users_are_who_contracts_name, keys_are_of_one_user)
