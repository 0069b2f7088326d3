"""The part of a nats-server's configuration that says who may do what: `accounts`, one per tenant or one for all.

In: the users file and the pools of workers. Out: text that `nats.conf` includes. It holds public keys only.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from fanfuse_all_in_one.deploying.users_file import UsersFile
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import flow, limits, permissions, streams, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.flow import Delivery
from fanfuse_contracts.permissions import Permissions

ACCOUNT: Final = "FANFUSE"
_HEAD: Final = "# Made by `fanfuse deploy nats`: change the users file and make it again.\n"
_RESPONSES: Final = {"max": 1, "expires": "1m"}
_Pools = Iterable[tuple[Kind, str]]


def render_one_account(users: UsersFile, pools: _Pools) -> str:
    """Everybody in one account: permissions keep tenants apart, but not what the server writes for them (ADR 0023).

    Raises `OperatorError` where a service has no key.
    """
    services = _services(users, pools)
    tenants = [
        row for tenant, keys in sorted(users.tenants.items()) for row in _rows(permissions.of_tenant(tenant), keys)
    ]
    return _rendered({ACCOUNT: {"jetstream": "enabled", "users": [*services, *tenants]}})


def render_account_per_tenant(users: UsersFile, pools: _Pools, connections: int = limits.TENANT_CONNECTIONS) -> str:
    """Each tenant in an account of its own, which reaches exactly its own subjects; clients see no difference.

    The server itself puts the account's name where the tenant stands, so not even a wrong permission lets one tenant
    publish for another. `connections`: how many a tenant may have at a time, on all servers together. Raises
    `OperatorError` where a service has no key.
    """
    answers = [{"service": {"account": tenant, "subject": _answers(tenant)}} for tenant in sorted(users.tenants)]
    services = {"jetstream": "enabled", "users": _services(users, pools), "exports": _exports(), "imports": answers}
    bounds = {"max_connections": connections, "max_subscriptions": limits.TENANT_SUBSCRIPTIONS}
    own = {
        tenant: {
            "users": _rows(permissions.of_tenant(tenant), keys),
            "imports": _imports(tenant),
            "exports": [{"service": _answers(tenant), "accounts": [ACCOUNT]}],
            "limits": bounds,
        }
        for tenant, keys in sorted(users.tenants.items())
    }
    return _rendered({ACCOUNT: services, **own})


def _rendered(accounts: dict[str, Any]) -> str:
    """A line per user and per tenant: what changes is seen in a diff, and a ConfigMap (1 MiB) holds many."""
    shared = [f'    "{key}": {_one_per_line(value)}' for key, value in accounts[ACCOUNT].items()]
    lines = ["{\n" + ",\n".join(shared) + "\n  }", *(_line(own) for name, own in accounts.items() if name != ACCOUNT)]
    named = (f"  {json.dumps(name)}: {text}" for name, text in zip(accounts, lines, strict=True))
    return _HEAD + "accounts: {\n" + ",\n".join(named) + "\n}\n"


def _one_per_line(value: Any) -> str:
    if not isinstance(value, list):
        return _line(value)
    return "[\n" + ",\n".join(f"      {_line(one)}" for one in value) + "\n    ]"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def left_out(users: UsersFile, pools: _Pools) -> list[str]:
    """Services with a key that `pools` make no use of: the server cuts them off."""
    return sorted(users.services.keys() - {one.user for one in _wanted(users, pools)})


def _wanted(users: UsersFile, pools: _Pools) -> tuple[Permissions, ...]:
    known = tuple(pools)
    operators = (permissions.of_nack(known),) if permissions.NACK in users.services else ()
    return (*permissions.of_everyone(known, ()), *operators)


def _services(users: UsersFile, pools: _Pools) -> list[dict[str, Any]]:
    wanted = _wanted(users, pools)
    missing = users.missing(one.user for one in wanted)
    if missing:
        raise OperatorError(f"no key for {', '.join(missing)}: `fanfuse deploy keys` makes them")
    return [row for one in wanted for row in _rows(one, users.services[one.user])]


def _rows(one: Permissions, keys: Iterable[str]) -> list[dict[str, Any]]:
    allowed: dict[str, Any] = {"publish": {"allow": list(one.publish)}, "subscribe": {"allow": list(one.subscribe)}}
    if one.responds:
        allowed["allow_responses"] = _RESPONSES
    return [{"nkey": key, "permissions": allowed} for key in keys]


_STORED_ANSWER: Final = f"$JS.API.DIRECT.GET.{streams.ANSWERS.name}.{subjects.QUERY_FUSED}"


def _asked() -> dict[str, str]:
    """What tenants publish, with `*` where the tenant stands, and how long the server keeps a way back for its reply.

    Some 0.7 KB each, and two minutes where nothing is stated: a tenant that names a reply where none comes could so
    fill the server's memory. To what has no reply (a cancelling), or asks in vain, the way is closed soon.
    """
    published = (channel for channel in flow.CHANNELS if flow.CALLER in channel.publishers)
    within = {channel.subject: "1s" if channel.delivery is Delivery.CORE else "10s" for channel in published}
    return {**within, _STORED_ANSWER: "10s"}


def _tenant_position(pattern: str) -> int:
    return pattern.split(".").index("*") + 1


def _exports() -> list[dict[str, Any]]:
    return [
        {"service": pattern, "account_token_position": _tenant_position(pattern), "threshold": within}
        for pattern, within in _asked().items()
    ]


def _imports(tenant: str) -> list[dict[str, Any]]:
    return [{"service": {"account": ACCOUNT, "subject": _at(pattern, tenant)}} for pattern in _asked()]


def _answers(tenant: str) -> str:
    """Answers go to their tenant as requests that nobody replies to, and not as a stream that it imports.

    nats-server 2.15.1 ends in a panic where somebody subscribes to an imported stream while it reads its accounts.
    """
    return _at(subjects.QUERY_ANSWERED, tenant)


def _at(pattern: str, tenant: str) -> str:
    return pattern.replace("*", tenant, 1)
