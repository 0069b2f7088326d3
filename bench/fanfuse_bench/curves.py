"""Figures against what was varied, as an SVG: a curve per subject, its name at its end. In: points. Out: text.

Both axes are logarithmic where what matters is how many times as much.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element, SubElement

from fanfuse_evaluation import drawing

_LEFT: Final = 60
_TOP: Final = 50
_WIDTH: Final = 520
_HEIGHT: Final = 300
_NAMES: Final = 220
_LINE: Final = 16
_COLOURS: Final = ("answer", "lane", "policy", "run")
"""Classes of `drawing.LOOK`, in turn."""


class Curve(NamedTuple):
    """Points in the order of what was varied. `colour`: curves of one number have one colour."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: int


class Axis:
    """Values to places between `low` and `high`."""

    def __init__(self, values: Sequence[float], *, log: bool) -> None:
        self._log = log
        self.low = min(values) if log else 0.0
        self.high = max(values) if max(values) > self.low else self.low + 1.0

    def share(self, value: float) -> float:
        """Where a value is: 0 to 1."""
        low, high, at = (math.log(one) if self._log else one for one in (self.low, self.high, value))
        return (at - low) / (high - low)

    def ticks(self) -> Iterator[float]:
        """1, 2 and 5 times the powers of ten on a logarithmic axis, else round steps."""
        if not self._log:
            yield from drawing.ticks(self.low, self.high)
            return
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        round_ones = (10.0**power * factor for power in powers for factor in (1, 2, 5))
        yield from (at for at in round_ones if self.low <= at <= self.high)


def draw(curves: Sequence[Curve], title: str, across: str, *, log: bool = False) -> str:
    """The picture; `across` tells what was varied. What a logarithm is not known of is left out."""
    curves = [one for curve in curves if (one := _shown(curve, log=log)).points]
    axes = tuple(Axis([point[at] for curve in curves for point in curve.points], log=log) for at in range(2))
    root = drawing.canvas(_LEFT + _WIDTH + _NAMES, _TOP + _HEIGHT + 50, title)
    drawing.text(root, 0, 18, title, "heading")
    _draw_grid(root, *axes)
    drawing.text(root, _LEFT + _WIDTH / 2, _TOP + _HEIGHT + 40, across, "tick")
    ends = _apart([_place(curve.points[-1], axes)[1] for curve in curves])
    for curve, end in zip(curves, ends, strict=True):
        _draw_curve(root, curve, [_place(point, axes) for point in curve.points], end)
    return drawing.picture(root)


def _shown(curve: Curve, *, log: bool) -> Curve:
    least = sys.float_info.min if log else -math.inf
    return curve._replace(points=[point for point in curve.points if all(least <= at < math.inf for at in point)])


def _place(point: tuple[float, float], axes: Sequence[Axis]) -> tuple[float, float]:
    return _LEFT + _WIDTH * axes[0].share(point[0]), _TOP + _HEIGHT * (1 - axes[1].share(point[1]))


def _draw_grid(root: Element, across: Axis, up: Axis) -> None:
    for at in across.ticks():
        x = _LEFT + _WIDTH * across.share(at)
        drawing.line(root, (x, _TOP), (x, _TOP + _HEIGHT), "grid")
        drawing.text(root, x, _TOP + _HEIGHT + 20, f"{at:g}", "tick")
    for at in up.ticks():
        y = _TOP + _HEIGHT * (1 - up.share(at))
        drawing.line(root, (_LEFT, y), (_LEFT + _WIDTH, y), "grid")
        drawing.text(root, _LEFT - 24, y + 4, f"{at:g}", "tick")


def _draw_curve(root: Element, curve: Curve, places: Sequence[tuple[float, float]], end: float) -> None:
    group = SubElement(root, "g", {"class": _COLOURS[curve.colour % len(_COLOURS)]})
    for start, stop in pairwise(places):
        drawing.line(group, start, stop, "interval")
    for x, y in places:
        drawing.dot(group, x, y)
    drawing.text(group, places[-1][0] + 12, end + 4, curve.name, "said")


def _apart(wanted: Sequence[float]) -> list[float]:
    """Places for names, each where it is wanted or above, a line apart."""
    placed: dict[int, float] = {}
    last = math.inf
    for number in sorted(range(len(wanted)), key=wanted.__getitem__, reverse=True):
        last = placed[number] = min(wanted[number], last - _LINE)
    return [placed[number] for number in range(len(wanted))]
