"""What an account for each tenant costs nats-server, beside all tenants in one account.

In: how many queries, rounds and tenants. Out: tables: a tenant's requests alone and a whole query, by rounds in which
both forms take turns on servers of their own; an idle server by its tenants. Figures of one run belong together.
"""

import argparse
import asyncio
import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import nats
import nkeys

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT, render_account_per_tenant, render_one_account
from fanfuse_all_in_one.deploying.users_file import UsersFile
from fanfuse_bench import runs
from fanfuse_bench.children import cpu_s
from fanfuse_bench.corpora import TENANT, simulated_questions
from fanfuse_bench.figures import table
from fanfuse_contracts import permissions, streams, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.server import NatsServer

POOLS: Final = tuple((kind, "main") for kind in Kind)
FORMS: Final[dict[str, Callable[..., str]]] = {
    "one account": render_one_account,
    "account per tenant": render_account_per_tenant,
}
LOGIN: Final = f"{TENANT}:secret"
_RELOADS: Final = 10
_WITHIN_S: Final = 60.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command line options."""
    parser.add_argument("--queries", type=int, default=400, help="how many are measured per round and form (400)")
    parser.add_argument("--rounds", type=int, default=10, help="how often the two take turns (10)")
    parser.add_argument("--crossings", type=int, default=4_000, help="requests of a tenant per round and form (4,000)")
    parser.add_argument("--concurrency", type=int, default=16, help="queries in flight (16)")
    parser.add_argument("--tenants", type=int, nargs="*", default=[1, 100, 1_000], help="tenants of an idle server")


async def measure(options: argparse.Namespace) -> str:
    """All tables."""
    idle = [_idle(form, tenants) for tenants in options.tenants for form in FORMS]
    header = ("tenants", "form", "users.conf, KB", "start, ms", "memory, MB", "reload, ms", "its CPU, ms")
    crossed = await _ways(options)
    return "\n\n".join([crossed, _query_table(await _rounds(options)), table(header, idle)])


def configuration(form: str, tenants: int) -> str:
    """What `fanfuse deploy nats` prints for so many tenants, and two users without a key: services and the caller."""
    users = UsersFile()
    for one in permissions.of_everyone(POOLS, ()):
        users = users.with_service(one.user, _key())
    names = (TENANT, *(f"tenant-{number}" for number in range(tenants - 1)))
    users = users.model_copy(update={"tenants": {name: (_key(),) for name in names}})
    accounts: dict[str, Any] = json.loads(FORMS[form](users, POOLS).partition("accounts:")[2])
    accounts[ACCOUNT]["users"].append({"user": "services", "password": "secret"})
    accounts[TENANT if TENANT in accounts else ACCOUNT]["users"].append(_caller())
    return f"accounts: {json.dumps(accounts)}\nno_auth_user: services\n"


def _key() -> str:
    seed = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return str(nkeys.from_seed(seed).public_key.decode())


def _caller() -> dict[str, Any]:
    allowed = permissions.of_tenant(TENANT)
    user, _, password = LOGIN.partition(":")
    rights = {"publish": {"allow": allowed.publish}, "subscribe": {"allow": (*allowed.subscribe, "_INBOX.>")}}
    return {"user": user, "password": password, "permissions": rights}


# -- a query ----------------------------------------------------------------------------------------------------


async def _rounds(options: argparse.Namespace) -> dict[str, list[runs.Run]]:
    load = runs.Load(options.queries, 100, {"at_once": options.concurrency}, {})
    done: dict[str, list[runs.Run]] = {form: [] for form in FORMS}
    async with AsyncExitStack() as stack:
        hosts = {}
        for form in FORMS:
            where = await stack.enter_async_context(runs.place(configuration(form, 2), LOGIN))
            questions = await simulated_questions(where.operator)
            hosts[form] = await stack.enter_async_context(runs.services(form, where, "2"))
        for number in range(options.rounds):
            runs.say(f"round {number + 1} of {options.rounds}")
            for form in sorted(FORMS, reverse=bool(number % 2)):
                done[form].append(await hosts[form].run(questions, load))
    return done


_FIGURES: Final[dict[str, Callable[[runs.Run], float]]] = {
    "CPU of nats-server, ms": lambda run: run.server_ms,
    "CPU of the caller, ms": lambda run: run.caller_cpu_ms,
    "CPU of the services, ms": lambda run: run.cpu_ms,
    "p50 for the caller, ms": lambda run: run.caller_ms.p50,
    "p95 for the caller, ms": lambda run: run.caller_ms.p95,
}
_BESIDE: Final = ("one account", "account per tenant", "ratio of a round: median (range)")


def _query_table(done: dict[str, list[runs.Run]]) -> str:
    rows = [_row(name, *([of(run) for run in form] for form in done.values())) for name, of in _FIGURES.items()]
    statuses = {form: runs_[-1].statuses for form, runs_ in done.items()}
    return f"{table(('per query: least of the rounds', *_BESIDE), rows)}\n\nlast round: {statuses}"


def _row(name: str, one: Sequence[float], own: Sequence[float]) -> tuple[object, ...]:
    ratios = [b / a if a else float("nan") for a, b in zip(one, own, strict=True)]  # less than a tick of the clock
    return name, min(one), min(own), f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


# -- a tenant's own messages ------------------------------------------------------------------------------------


async def _ways(options: argparse.Namespace) -> str:
    """Only what crosses the border of an account: a query that is stored, a stored answer that is asked for."""
    spent: dict[str, list[tuple[float, float]]] = {form: [] for form in FORMS}
    async with AsyncExitStack() as stack:
        places = {}
        for form in FORMS:
            places[form] = await stack.enter_async_context(runs.place(configuration(form, 2), LOGIN))
        for number in range(options.rounds):
            for form in sorted(FORMS, reverse=bool(number % 2)):
                spent[form].append(await _crossed(places[form], number, options))
    rows = [
        _row(name, *([spent_[at] for spent_ in form] for form in spent.values()))
        for at, name in enumerate(("CPU of nats-server, µs", "CPU of plain nats-py, µs"))
    ]
    return table(("a request to a stream and its reply: least of the rounds", *_BESIDE), rows)


async def _crossed(where: runs.Place, number: int, options: argparse.Namespace) -> tuple[float, float]:
    client = await nats.connect(where.caller_url)
    wanted = f"$JS.API.DIRECT.GET.{streams.ANSWERS.name}.{subjects.query_fused(TENANT, 'none')}"
    queries = (subjects.query_submitted(TENANT, f"round{number}-{at}") for at in range(options.crossings // 2))
    requests = iter([subject for query in queries for subject in (query, wanted)])

    async def ask() -> None:
        for subject in requests:
            await client.request(subject, b"{}", timeout=10.0)

    before, own = cpu_s(where.server.pid), time.process_time()
    await asyncio.gather(*(ask() for _ in range(options.concurrency)))
    own, server = time.process_time() - own, cpu_s(where.server.pid) - before
    await client.close()
    return server * 1e6 / options.crossings, own * 1e6 / options.crossings


# -- an idle server ---------------------------------------------------------------------------------------------


def _idle(form: str, tenants: int) -> tuple[object, ...]:
    runs.say(f"{tenants} tenants, {form}")
    with TemporaryDirectory(prefix="fanfuse-bench-") as name:
        config = Path(name) / "nats.conf"
        config.write_text(configuration(form, tenants))
        began = time.perf_counter()
        with NatsServer(Path(name) / "nats", config=config) as server:
            start_ms = (time.perf_counter() - began) * 1e3
            memory = _resident_mb(server.pid)
            before = cpu_s(server.pid)
            took = sorted(_reload_ms(server, Path(name) / "nats" / "nats-server.log") for _ in range(_RELOADS))
            spent = (cpu_s(server.pid) - before) * 1e3 / _RELOADS
        return tenants, form, config.stat().st_size // 1000, start_ms, memory, median(took), spent


def _reload_ms(server: NatsServer, log: Path) -> float:
    told = log.read_bytes().count(b"Reloaded server configuration")
    began = time.perf_counter()
    os.kill(server.pid, signal.SIGHUP)
    while log.read_bytes().count(b"Reloaded server configuration") == told:
        assert time.perf_counter() - began < _WITHIN_S, "the server did not read it again"
        time.sleep(0.001)
    return (time.perf_counter() - began) * 1e3


def _resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
