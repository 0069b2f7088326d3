"""A query over the corpora of a file, decided without a bus.

In: options of a command. Out: the reply of `decide`.
"""

import time
from collections.abc import Collection, Iterable
from pathlib import Path

import typer

from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import DecideReply
from fanfuse_contracts.query import SubmittedQuery


def decide_offline(
    file: Path, tenant: str | None, query: SubmittedQuery, failed: Collection[Kind] = (), overrides: Iterable[str] = ()
) -> DecideReply:
    """What the flow would decide; raises `ConfigError`, and a usage error where the tenant is not clear."""
    from fanfuse_all_in_one.offline import OfflineRouter
    from fanfuse_runtime.configfile import load_config

    router = OfflineRouter(load_config(file, flags=overrides))
    return router.decide(_tenant(tenant, router.tenants, file), query, failed=failed, now_s=time.time())


def _tenant(tenant: str | None, known: tuple[str, ...], file: Path) -> str:
    if tenant in known:
        return tenant
    names = ", ".join(known) or "none"
    if tenant is not None:
        raise typer.BadParameter(f"{file} has no corpus of tenant {tenant!r}; tenants there: {names}")
    if len(known) != 1:
        raise typer.BadParameter(f"{file} has corpora of several tenants or of none ({names}): give --tenant")
    return known[0]
