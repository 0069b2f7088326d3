"""Mistakes to plant into the objects of an overlay, one at a time.

In: a check, the object that it must name, and a change. Out: the changed objects, and what the checks say of them.
"""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from fanfuse_contracts import streams
from fanfuse_contracts.enums import Kind
from tests.deploy.manifests import Cluster, Object, name
from tests.deploy.operating_checks import faults
from tests.deploy.rendered import Objects

Path = tuple[str | int, ...]
POOLS: Final = tuple((kind, "main") for kind in Kind)


def consumers_of(pools: Iterable[tuple[Kind, str]]) -> dict[str, str]:
    """Those that the setup step creates: durable to stream."""
    specs = (*streams.CONSUMERS, *(streams.pool_consumer(kind, pool) for kind, pool in pools))
    return {spec.durable: spec.stream for spec in specs}


CONSUMERS: Final = consumers_of(POOLS)
POD: Final[Path] = ("spec", "template", "spec")
SERVICE: Final[Path] = (*POD, "containers", "service")
SERVER: Final[Path] = (*POD, "containers", "nats")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake, and who must speak of it."""

    check: str
    told: str
    """What each fault of the check names: the object with the mistake, or the one that it hurts."""
    plant: Callable[[Objects], None]
    also: tuple[str, ...] = ()
    """Checks that rightly speak of the same mistake."""
    overlay: str = "prod"


def find(those: Objects, which: str) -> Object:
    """An object by kind and name; raises `StopIteration`."""
    return next(each for each in those if name(each) == which)


def _step(place: Any, key: str | int) -> Any:
    """One step down; a row of a list by its name, too."""
    if isinstance(place, list) and isinstance(key, str):
        return next(row for row in place if row["name"] == key)
    return place[key]


def _place(those: Objects, which: str, path: Path) -> Any:
    place: Any = find(those, which)
    for key in path:
        place = _step(place, key)
    return place


def change(check: str, which: str, *path: str | int, to: Any, **row: Any) -> Mistake:
    """Another value, also where there was none."""

    def plant(those: Objects) -> None:
        place, key = _place(those, which, path[:-1]), path[-1]
        if isinstance(place, list) and isinstance(key, str):
            key = place.index(_step(place, key))
        place[key] = copy.deepcopy(to)

    return Mistake(check, row.pop("told", which), plant, **row)


def drop(check: str, which: str, *path: str | int, **row: Any) -> Mistake:
    """A value, or a row of a list, is left out."""

    def plant(those: Objects) -> None:
        place, key = _place(those, which, path[:-1]), path[-1]
        if isinstance(place, list) and isinstance(key, str):
            key = place.index(_step(place, key))
        del place[key]

    return Mistake(check, row.pop("told", which), plant, **row)


def more(check: str, which: str, *path: str | int, item: Any, **row: Any) -> Mistake:
    """One more row of a list, also where there was none."""

    def plant(those: Objects) -> None:
        _place(those, which, path[:-1]).setdefault(path[-1], []).append(copy.deepcopy(item))

    return Mistake(check, row.pop("told", which), plant, **row)


def remove(check: str, which: str, **row: Any) -> Mistake:
    """An object is left out."""
    return Mistake(check, row.pop("told", which), lambda those: those.remove(find(those, which)), **row)


def add(check: str, kind: str, called: str = "planted", **row: Any) -> Mistake:
    """An object is there that nobody needs; `spec` and other fields by name."""
    known = {key: row.pop(key) for key in ("told", "also", "overlay") if key in row}
    made = {"kind": kind, "metadata": {"name": called, "namespace": "fanfuse"}, **row}
    return Mistake(check, known.pop("told", name(made)), lambda those: those.append(copy.deepcopy(made)), **known)


def twin(check: str, which: str, called: str, **row: Any) -> Mistake:
    """An object stands there again under another name."""

    def plant(those: Objects) -> None:
        again = copy.deepcopy(find(those, which))
        again["metadata"]["name"] = called
        those.append(again)

    return Mistake(check, row.pop("told", called), plant, **row)


def text(check: str, file: str, old: str, new: str, **row: Any) -> Mistake:
    """Another text in a file of a ConfigMap."""

    def plant(those: Objects) -> None:
        config = next(each for each in those if file in each.get("data", {}))
        assert old in config["data"][file]
        config["data"][file] = config["data"][file].replace(old, new)

    return Mistake(check, row.pop("told", file), plant, **row)


def variable(check: str, which: str, key: str, value: str | None, **row: Any) -> Mistake:
    """A variable of a process with another value, new, or (None) away."""

    def plant(those: Objects) -> None:
        (*_, container) = _place(those, which, (*POD, "containers"))[:1]
        container["env"] = [one for one in container["env"] if one["name"] != key]
        if value is not None:
            container["env"].append({"name": key, "value": value})

    return Mistake(check, row.pop("told", which), plant, **row)


def both(first: Mistake, second: Mistake) -> Mistake:
    """Two changes that are one mistake together."""

    def plant(those: Objects) -> None:
        first.plant(those)
        second.plant(those)

    return Mistake(first.check, first.told, plant, first.also, first.overlay)


def spoken(overlays: dict[str, Objects], mistakes: Iterable[Mistake]) -> list[str]:
    """What the checks say of the overlay of the first mistake with all of them in it."""
    planted = list(mistakes)
    overlay = planted[0].overlay
    those = copy.deepcopy(overlays[overlay])
    for mistake in planted:
        mistake.plant(those)
    return faults(Cluster(those, CONSUMERS, available=overlay == "prod"))
