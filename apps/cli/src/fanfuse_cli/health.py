"""`fanfuse health list|mark|clear|probe`: how backends stand, and what an operator says of them."""

import getpass
import json
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from fanfuse_cli.console import results
from fanfuse_cli.failures import FAILED, plainly
from fanfuse_cli.interrupts import run_until_signal
from fanfuse_cli.options import DEFAULT_DATA, AsJson, ConfigFile, DataDir, NatsUrl, running_bus, stated_config
from fanfuse_contracts.enums import BackendHealth

if TYPE_CHECKING:
    from fanfuse_all_in_one.marking import BackendStanding
    from fanfuse_all_in_one.operating import Operator

T = TypeVar("T")

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION: Final = re.compile(r"(?:\d+[smhd])+")
_LONGEST_S: Final = 365 * 86_400

health_app = typer.Typer(help="How backends stand, and what an operator says of them.", no_args_is_help=True)


def _seconds(text: str | None) -> str | None:
    if text is not None and not _DURATION.fullmatch(text):
        raise typer.BadParameter(f"{text!r} is no duration: write 90s, 5m, 1h30m or 2d")
    if text is not None and not 0 < seconds_of(text) <= _LONGEST_S:
        raise typer.BadParameter(f"{text} is too short or too long: more than 0s, at most 365d")
    return text


def seconds_of(text: str) -> float:
    """Seconds of `90s`, `5m`, `1h30m`, `2d`."""
    return float(sum(int(part[:-1]) * _UNITS[part[-1]] for part in re.findall(r"\d+[smhd]", text)))


def _me() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


Backend = Annotated[str, typer.Argument(metavar="KIND/NAME", help="Such as vector/main.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for whoever looks at it later.")]
By = Annotated[str, typer.Option("--by", help="Who says so.", default_factory=_me, show_default="user@host")]


@dataclass(frozen=True, slots=True)
class Bus:
    """Where a command finds its bus and its registry."""

    file: Path | None
    data: Path
    nats_url: str | None

    def run(self, work: "Callable[[Operator], Awaitable[T]]") -> T:
        """The result of one operator's work."""
        from fanfuse_all_in_one.operating import operator_on

        config = stated_config(self.file)

        async def run(url: str) -> T:
            async with operator_on(url, config=config, data_dir=self.data) as operator:
                return await work(operator)

        return run_until_signal(run(running_bus(self.data, self.nats_url)))


@health_app.command("list")
@plainly
def list_backends(
    file: ConfigFile = None, data: DataDir = DEFAULT_DATA, nats_url: NatsUrl = None, as_json: AsJson = False
) -> None:
    """Show every backend: its state, since when and why, who set it and when it is probed."""
    from fanfuse_all_in_one.marking import backend_standings

    found = Bus(file, data, nats_url).run(backend_standings)
    if as_json:
        print(json.dumps([as_dict(each) for each in found], ensure_ascii=False))
    else:
        results().print(backend_table(found))


@health_app.command("mark")
@plainly
def mark(
    backend: Backend,
    reason: Reason,
    by: By,
    for_: Annotated[
        str | None, typer.Option("--for", help="90s, 5m, 1h30m …; without it until it is cleared.", callback=_seconds)
    ] = None,
    file: ConfigFile = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Have nobody ask a backend: its lanes are left out and named. When the time is over it is probed first."""
    from fanfuse_all_in_one.marking import mark_backend, parse_backend

    key, for_s = parse_backend(backend), seconds_of(for_) if for_ else None
    Bus(file, data, nats_url).run(lambda operator: mark_backend(operator, key, by=by, reason=reason, for_s=for_s))
    until = f"for {for_}" if for_ else f"until `fanfuse health clear {backend}`"
    results().print(escape(f"{backend} is degraded {until}: {reason}"))


@health_app.command("clear")
@plainly
def clear(
    backend: Backend,
    by: By,
    reason: Reason = "cleared",
    file: ConfigFile = None,
    data: DataDir = DEFAULT_DATA,
    nats_url: NatsUrl = None,
) -> None:
    """Take a backend as healthy from now on, whoever said otherwise."""
    from fanfuse_all_in_one.marking import clear_backend, parse_backend

    key = parse_backend(backend)
    Bus(file, data, nats_url).run(lambda operator: clear_backend(operator, key, by=by, reason=reason))
    results().print(escape(f"{backend} is healthy: {reason}"))


@health_app.command("probe")
@plainly
def probe(
    backend: Backend, by: By, file: ConfigFile = None, data: DataDir = DEFAULT_DATA, nats_url: NatsUrl = None
) -> None:
    """Have a degraded backend probed now, before its time; exit code 1 if it is not healthy after that."""
    from fanfuse_all_in_one.marking import parse_backend, probe_backend

    key = parse_backend(backend)
    reply = Bus(file, data, nats_url).run(lambda operator: probe_backend(operator, key, by=by))
    results().print(escape(f"{backend} is {reply.state.value}: {reply.reason}"))
    if reply.state is not BackendHealth.HEALTHY:
        raise typer.Exit(FAILED)


def as_dict(each: "BackendStanding") -> dict[str, Any]:
    """One backend, for --json."""
    stored = {} if each.state is None else each.state.model_dump(mode="json", exclude={"schema_version"})
    told = {"kind": each.kind.value, "backend": each.backend, "state": BackendHealth.HEALTHY.value}
    told |= {"reason": _unreadable(each)} if each.unreadable else {}
    return told | stored | {"age_s": round(each.age_s, 3), "left_s": each.left_s}


def backend_table(found: "Iterable[BackendStanding]") -> RenderableType:
    """Every backend; a line where there is none."""
    rows = [_row(each) for each in found]
    if not rows:
        return "no backend: no corpus is registered"
    head = ("backend", "state", "for", "next probe", "set by", "reason")
    table = Table(*head, box=None, pad_edge=False, title="backends", title_justify="left")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _row(each: "BackendStanding") -> tuple[str, ...]:
    name, state = f"{each.kind.value}/{each.backend}", each.state
    if state is None:
        return name, BackendHealth.HEALTHY.value, "", "", "", _unreadable(each)
    left = "" if state.state is BackendHealth.HEALTHY else _next_probe(each)
    return name, state.state.value, duration(each.age_s), left, state.set_by or "health", state.reason


def _unreadable(each: "BackendStanding") -> str:
    if not each.unreadable:
        return ""
    key = f"{each.kind.value}/{each.backend}"
    return f"its record can't be read ({each.unreadable}): `fanfuse health clear {key}` writes it anew"


def _next_probe(each: "BackendStanding") -> str:
    if each.left_s is None:
        return "when cleared" if each.state is not None and each.state.manual else "now"
    return f"in {duration(each.left_s)}"


def duration(seconds: float) -> str:
    """`1h 05m`, `4m 12s`, `9s`."""
    whole = int(seconds)
    if whole >= _UNITS["h"]:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 60}m {whole % 60:02}s" if whole >= _UNITS["m"] else f"{whole}s"
