"""Where a process spends its CPU: a sampler driven by the process's own CPU time.

In: a running interpreter. Out: how often each package, and each function, was on top of the main thread's stack.
Threads are not seen: their share is the difference between the process's and the main thread's CPU time. A tick is seen
when the interpreter next looks, so time inside a C extension can land on the first Python function that it calls back.
"""

import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

INTERVAL_S: Final = 0.002
"""Asked for; a kernel gives its own tick where that is longer (4 ms is common)."""

_PACKAGES: Final = {
    "nats": "nats-py",
    "faststream": "faststream",
    "fast_depends": "faststream",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic",
    "opentelemetry": "opentelemetry",
    "structlog": "structlog",
    "prometheus_client": "prometheus_client",
    "tantivy": "engines",
    "qdrant_edge": "engines",
    "kglite": "engines",
    "fanfuse_bench": "simulated engines, sampler",
}
_JSON: Final = {("fanfuse_contracts/base.py", name): "pydantic" for name in ("to_json", "from_json")}
"""The serializer is called by these two without a Python frame of its own."""

_PYDANTIC: Final = "pydantic"
_MODELS: Final = "fanfuse_contracts"

Place = tuple[str, str]
"""File and function."""


def owner_of(stack: Iterable[Place]) -> str:
    """The package that spent a sample, innermost place first.

    The standard library works for whoever called it, but for asyncio, which is a row of its own; a model's own
    validators work for pydantic, which calls them.
    """
    owners = [owner for file, function in stack if (owner := _owner(file, function)) is not None]
    beyond = next((owner for owner in owners if owner != _MODELS), None)
    if owners and owners[0] == _MODELS and beyond != _PYDANTIC:
        return _MODELS
    return beyond or "interpreter"


def _owner(file: str, function: str) -> str | None:
    for (tail, name), owner in _JSON.items():
        if function == name and file.endswith(tail):
            return owner
    if "/asyncio/" in file:
        return "asyncio"
    parts = file.split("/")
    for part in reversed(parts[:-1]):
        if part in _PACKAGES:
            return _PACKAGES[part]
        if part.startswith("fanfuse_"):
            return part
    return None


def _places(frame: FrameType | None) -> Iterator[Place]:
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_code.co_name
        frame = frame.f_back


def _name(frame: FrameType) -> str:
    file = "/".join(frame.f_code.co_filename.split("/")[-2:])
    return f"{file}:{frame.f_code.co_firstlineno} {frame.f_code.co_name}"


@dataclass(slots=True)
class Profile:
    """Samples by package, by function on top, and by function anywhere in the stack."""

    owners: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    inclusive: Counter[str] = field(default_factory=Counter)

    @property
    def samples(self) -> int:
        """All of them."""
        return self.owners.total()


class Sampler:
    """Samples the main thread while it runs; start and stop it there."""

    def __init__(self) -> None:
        self.profile = Profile()

    def start(self) -> None:
        """Begin a new profile."""
        self.profile = Profile()
        signal.signal(signal.SIGPROF, self._on_tick)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)

    def stop(self) -> Profile:
        """End it."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        return self.profile

    def _on_tick(self, _number: int, frame: FrameType | None) -> None:
        if frame is None:
            return
        self.profile.owners[owner_of(_places(frame))] += 1
        self.profile.functions[_name(frame)] += 1
        seen: FrameType | None = frame
        names = set()
        while seen is not None:
            names.add(_name(seen))
            seen = seen.f_back
        self.profile.inclusive.update(names)
