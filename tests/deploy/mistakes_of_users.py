"""Mistakes of users.conf: who may connect to the bus, and what each may do there."""

import json
from collections.abc import Callable
from typing import Any, Final

from tests.deploy.planting import Mistake, text
from tests.deploy.rendered import Objects

_WHO: Final = "users_are_who_contracts_name"
_ONE: Final = "keys_are_of_one_user"
Rows = list[dict[str, Any]]


def users(check: str, told: str, do: Callable[[Rows], object], **row: Any) -> Mistake:
    """The users of the services' account, changed."""

    def plant(those: Objects) -> None:
        data = next(each["data"] for each in those if "users.conf" in each.get("data", {}))
        head, _, body = data["users.conf"].partition("accounts: ")
        accounts = json.loads(body)
        do(accounts["FANFUSE"]["users"])
        data["users.conf"] = f"{head}accounts: {json.dumps(accounts, indent=1)}\n"

    return Mistake(check, told, plant, **row)


def at(rows: Rows, user: str) -> dict[str, Any]:
    """A user's row, by its inbox."""
    return next(row for row in rows if f"_INBOX_{user}.>" in row["permissions"]["subscribe"]["allow"])


def _with(user: str, way: str, allowed: list[str]) -> Callable[[Rows], object]:
    return lambda rows: at(rows, user)["permissions"].update({way: {"allow": allowed}})


USERS: Final[tuple[Mistake, ...]] = (
    users(_WHO, "FUSER", lambda rows: rows.remove(at(rows, "FUSER"))),
    users(_WHO, "WORKER-GRAPH-MAIN", lambda rows: rows.remove(at(rows, "WORKER-GRAPH-MAIN"))),
    users(_WHO, "FUSER", _with("FUSER", "publish", [">"])),
    users(_WHO, "FUSER", lambda rows: at(rows, "FUSER")["permissions"].update(publish=">")),
    users(_WHO, "FUSER", lambda rows: at(rows, "FUSER")["permissions"]["publish"].update(allow=">")),
    users(_WHO, "FUSER", _with("FUSER", "subscribe", ["_INBOX_FUSER.>", ">"])),
    users(_WHO, "HEALTH", lambda rows: at(rows, "HEALTH")["permissions"]["publish"]["allow"].pop()),
    users(_WHO, "HEALTH", lambda rows: at(rows, "HEALTH")["permissions"].pop("allow_responses")),
    users(_WHO, "account FANFUSE", lambda rows: at(rows, "SETUP").pop("permissions")),
    users(_WHO, "account FANFUSE", lambda rows: at(rows, "FUSER")["permissions"].update(subscribe={"deny": [">"]})),
    users(_WHO, "guest", lambda rows: rows.append({"user": "guest", "password": "guest"})),
    users(_WHO, "UGUEST", lambda rows: rows.append({"nkey": "UGUEST"})),
    users(_ONE, "FUSER", lambda rows: at(rows, "FUSER").update(nkey=at(rows, "HEALTH")["nkey"])),
    text(_WHO, "users.conf", "query.submitted.acme.*", "query.submitted.*.*", told="acme"),
    text(_WHO, "users.conf", '"max_subscriptions":1000', '"max_subscriptions":-1', told="acme"),
    text(_WHO, "users.conf", '"account_token_position":5,', "", told="FANFUSE"),
    text(_WHO, "users.conf", '"acme": {', '"acme corp": {', told="acme corp"),
    text(_WHO, "users.conf", "accounts: {", 'no_auth_user: "anybody"\naccounts: {', told="no_auth_user"),
    text(_WHO, "users.conf", '"jetstream": "enabled",', '"jetstream": "enabled"', told="users.conf"),
)
