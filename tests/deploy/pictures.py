"""Pictures of the dashboards' panels, drawn from what a Prometheus holds, to be looked at without a Grafana.

In: a Prometheus and a time. Out: one PNG per dashboard, its panels where Grafana would put them, in the folder that
FANFUSE_PICTURES names, else in the one that is given. Needs matplotlib, which no part of Fanfuse does.
"""

import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tests.deploy.shipped import dashboards, filled
from tests.servers.prometheus import Prometheus

_UNIT: Final = {"s": "s", "percentunit": "%", "reqps": "req/s", "cps": "c/s", "short": ""}
"""As Grafana writes them."""
_COLUMN_IN, _ROW_IN = 0.75, 0.42
_GAP_S: Final = 5.0
_COLORS: Final = {
    "light-green": "lightgreen",
    "light-blue": "lightblue",
    "light-orange": "sandybrown",
    "dark-orange": "darkorange",
    "dark-red": "darkred",
    "light-purple": "plum",
}
_STATE_COLORS: Final = {0.0: "tab:green", 0.5: "tab:orange", 1.0: "tab:red"}

Series = list[tuple[str, list[tuple[float, float]]]]


def draw(prometheus: Prometheus, start: float, end: float, folder: Path) -> list[Path]:
    """One picture per dashboard."""
    folder = Path(os.environ.get("FANFUSE_PICTURES") or folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _draw(document, prometheus, start, end, folder / f"{Path(name).stem}.png")
        for name, document in dashboards().items()
    ]


def _draw(document: Mapping[str, Any], prometheus: Prometheus, start: float, end: float, path: Path) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in document["panels"])
    figure = pyplot.figure(figsize=(24 * _COLUMN_IN, rows * _ROW_IN), dpi=70)
    for panel in document["panels"]:
        place = panel["gridPos"]
        bottom = 1 - (place["y"] + place["h"]) / rows
        if panel["type"] == "row":
            figure.text(0.005, bottom + 0.2 / rows, panel["title"], fontsize=13, weight="bold")
            continue
        box = (place["x"] / 24 + 0.025, bottom + 1.1 / rows, place["w"] / 24 - 0.035, (place["h"] - 2.1) / rows)
        axes = figure.add_axes(box)
        axes.set_title(panel["title"], fontsize=10, loc="left")
        _panel(axes, panel, prometheus, start, end)
    figure.savefig(path)
    pyplot.close(figure)
    return path


def _panel(axes: Any, panel: Mapping[str, Any], prometheus: Prometheus, start: float, end: float) -> None:
    series = [
        (_name(target["legendFormat"], found["metric"]), _points(found, start))
        for target in panel["targets"]
        for found in prometheus.query_range(filled(target["expr"], kind="vector", backend="main"), start, end, 1.0)
    ]
    field = panel["fieldConfig"]["defaults"]
    unit = _UNIT[field["unit"]]
    axes.tick_params(labelsize=7)
    if unit == "%":
        series = [(name, [(at, 100 * value) for at, value in points]) for name, points in series]
    match panel["type"]:
        case "stat":
            _stat(axes, series, unit, field["thresholds"]["steps"])
        case "bargauge":
            _bars(axes, series)
        case "state-timeline":
            _timeline(axes, series, end - start)
        case "heatmap":
            _heatmap(axes, series)
        case _:
            _lines(axes, series, _fixed(panel))
            axes.set_xlim(0, end - start)
            axes.set_ylabel(unit, fontsize=8)


def _name(legend: str, labels: Mapping[str, str]) -> str:
    for label, value in labels.items():
        legend = legend.replace("{{" + label + "}}", value)
    return legend


def _points(found: Mapping[str, Any], start: float) -> list[tuple[float, float]]:
    points = [(at - start, float(value)) for at, value in found["values"]]
    return [point for point in points if not math.isnan(point[1])] or [(0.0, 0.0)]


def _fixed(panel: Mapping[str, Any]) -> dict[str, str]:
    """Series whose colour the dashboard states; a light or dark one is drawn as itself."""
    found = {}
    for each in panel["fieldConfig"]["overrides"]:
        color = each["properties"][0]["value"]["fixedColor"]
        found[each["matcher"]["options"]] = _COLORS.get(color, color)
    return found


def _lines(axes: Any, series: Series, fixed: Mapping[str, str]) -> None:
    """Gaps stay gaps; lines that never leave zero are drawn, and not named."""
    for name, points in series:
        broken = [points[0]]
        for before, point in pairwise(points):
            if point[0] - before[0] > _GAP_S:
                broken.append((before[0] + 1, math.nan))
            broken.append(point)
        label = name if any(value for _, value in points) else None
        axes.plot(*zip(*broken, strict=True), label=label, linewidth=1.2, color=fixed.get(name))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=6, framealpha=0.4, ncols=1 + len(series) // 6)


def _stat(axes: Any, series: Series, unit: str, steps: Sequence[Mapping[str, Any]]) -> None:
    """The largest and the last value, each in the colour that its threshold gives it."""
    axes.axis("off")
    values = [value for _, points in series for _, value in points]
    if not values:
        axes.text(0.5, 0.5, "no traffic", fontsize=18, ha="center", va="center", color="grey")
    for x, name, value in (
        (0.25, "largest", max(values, default=None)),
        (0.75, "last", values[-1] if values else None),
    ):
        if value is not None:
            bare = value / 100 if unit == "%" else value
            color = [step["color"] for step in steps if step["value"] is None or bare >= step["value"]][-1]
            axes.text(x, 0.55, f"{value:.3g} {unit}", fontsize=15, ha="center", va="center", color=color)
            axes.text(x, 0.1, name, fontsize=7, ha="center", color="grey")


def _bars(axes: Any, series: Series) -> None:
    names, values = [name for name, _ in series], [points[-1][1] for _, points in series]
    axes.barh(names, values, color="tab:blue")
    axes.set_xlim(0, 100)
    axes.set_yticks([])
    for row, (name, value) in enumerate(zip(names, values, strict=True)):
        axes.text(50, row, f"{name} {value:.1f} %", fontsize=9, va="center")


def _timeline(axes: Any, series: Series, length: float) -> None:
    for row, (name, points) in enumerate(series):
        for at, value in points:
            axes.barh(row, 1.0, left=at, color=_STATE_COLORS.get(value, "grey"), height=0.7)
        axes.text(length * 0.01, row, name, fontsize=8, va="center")
    axes.set_yticks([])
    axes.set_xlim(0, length)


def _heatmap(axes: Any, series: Series) -> None:
    buckets = sorted(series, key=lambda each: float(each[0]))
    below = dict.fromkeys((at for _, points in buckets for at, _ in points), 0.0)
    for row, (_, points) in enumerate(buckets):
        own = {at: max(0.0, value - below[at]) for at, value in points}
        below.update(points)
        filled_in = [(at, value) for at, value in own.items() if value > 1e-9]
        if filled_in:
            at, values = zip(*filled_in, strict=True)
            axes.scatter(at, [row] * len(at), c=values, cmap="Oranges", vmin=0, marker="s", s=9)
    axes.set_yticks(range(len(buckets)), [name for name, _ in buckets], fontsize=6)
