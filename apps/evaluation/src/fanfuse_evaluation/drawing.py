"""Parts of SVG plots: lines, texts, and where an axis has its ticks. In: coordinates. Out: elements in a parent."""

import math
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

COLOURS: Final = """
:root { color-scheme: light dark; --ink: #1d2329; --faint: #d9dee3; --soft: #5d6873; --paper: #fff;
  --lane: #3b6ea5; --answer: #b3261e; --policy: #2e7d4f; --run: #8a5a00 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --faint: #39424b; --soft: #9aa5b0; --paper: #14181c;
  --lane: #7fb0e4; --answer: #f28b82; --policy: #81c995; --run: #e0b050 } }
"""
LOOK: Final = """
.plot { font: 13px system-ui, sans-serif }
.plot text { fill: var(--ink) } .plot .tick { fill: var(--soft); text-anchor: middle; font-size: 12px }
.plot .heading { font-weight: 600 } .plot .said { fill: var(--soft); font-variant-numeric: tabular-nums }
.plot .grid { stroke: var(--faint) } .plot .interval { stroke-width: 2.5; stroke-linecap: round }
.lane .interval { stroke: var(--lane) } .lane circle { fill: var(--lane) }
.answer .interval { stroke: var(--answer) } .answer circle { fill: var(--answer) } .answer .name { font-weight: 600 }
.policy .interval { stroke: var(--policy) } .policy circle { fill: var(--policy) }
.run .interval { stroke: var(--run) } .run circle { fill: var(--run) }
"""
_TICKS: Final = 5


def canvas(width: float, height: float, title: str) -> Element:
    """An empty plot."""
    root = Element("svg", {"viewBox": f"0 0 {width} {height}", "role": "img", "class": "plot"})
    SubElement(root, "title").text = title
    return root


def picture(plot: Element) -> str:
    """A plot as a file of its own."""
    width, height = plot.attrib["viewBox"].split()[2:]
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height} | plot.attrib)
    SubElement(root, "style").text = COLOURS + LOOK
    SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "var(--paper)"})
    root.extend(plot)
    return tostring(root, encoding="unicode") + "\n"


def line(parent: Element, start: tuple[float, float], end: tuple[float, float], name: str) -> None:
    """A straight line of a class."""
    ends = {"x1": f"{start[0]:.1f}", "y1": f"{start[1]:.1f}", "x2": f"{end[0]:.1f}", "y2": f"{end[1]:.1f}"}
    SubElement(parent, "line", ends | {"class": name})


def text(parent: Element, x: float, y: float, words: str, name: str) -> None:
    """Words of a class."""
    SubElement(parent, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": name}).text = words


def dot(parent: Element, x: float, y: float) -> None:
    """A point, in the colour of its group."""
    SubElement(parent, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "5"})


def step(low: float, high: float) -> float:
    """Between two ticks: 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def ticks(low: float, high: float) -> Iterator[float]:
    """Values within an axis."""
    width = step(low, high)
    for number in range(math.ceil(low / width), math.floor(high / width) + 1):
        yield number * width
