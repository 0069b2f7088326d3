"""What panels are made of: kinds of panels, and expressions over the metrics of the contract.

Expressions follow the rules in deploy/prometheus: a share is divided by what is above zero, so that without traffic
there is no value instead of a wrong one.
"""

from typing import Final

from fanfuse_contracts import metrics as m
from fanfuse_contracts.metrics import MetricSpec
from tools.dashboard_model import Json, Panel, Query

NEUTRAL: Final = "blue"
PER_S: Final = "reqps"
"""Queries and answers."""
COUNTS_PER_S: Final = "cps"
"""Anything else that happens."""
SHARE: Final = "percentunit"
SECONDS: Final = "s"
STACKED: Final[Json] = {"custom": {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 30}}
FROM_ZERO: Final[Json] = {"min": 0}
AS_SHARE: Final[Json] = {"min": 0, "max": 1}
BLUE: Final[Json] = {"color": {"mode": "fixed", "fixedColor": NEUTRAL}}
GOOD: Final = "green"
DOUBTFUL: Final = "orange"
BAD: Final = "red"
COLORS: Final[dict[str, str]] = {
    "complete": GOOD,
    "answered": GOOD,
    "empty": "light-green",
    "not_waited": "light-blue",
    "partial": DOUBTFUL,
    "cut": "light-orange",
    "late": "dark-orange",
    "failed": BAD,
    "expired": "dark-red",
    "rejected": "purple",
    "clarify": NEUTRAL,
    "skipped_unhealthy": DOUBTFUL,
    "skipped_filter": "light-purple",
    "skipped_no_input": "gray",
}
"""Statuses and outcomes look the same on every panel."""
LAST: Final[Json] = {
    "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    "colorMode": "value",
    "graphMode": "none",
    "textMode": "auto",
    "justifyMode": "auto",
    "orientation": "auto",
}
BARS: Final[Json] = {
    "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    "orientation": "horizontal",
    "displayMode": "basic",
    "showUnfilled": True,
    "valueMode": "color",
}
LEGEND: Final[Json] = {
    "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
    "tooltip": {"mode": "multi", "sort": "desc"},
}
STATES: Final[Json] = {
    "mappings": [
        {
            "type": "value",
            "options": {
                "0": {"text": "healthy", "color": "green", "index": 0},
                "0.5": {"text": "half-open", "color": "orange", "index": 1},
                "1": {"text": "degraded", "color": "red", "index": 2},
            },
        }
    ]
}
TIMELINE: Final[Json] = {
    "showValue": "never",
    "rowHeight": 0.8,
    "mergeValues": True,
    "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
    "tooltip": {"mode": "single", "sort": "none"},
}


def rate(spec: MetricSpec, by: str = "", where: str = "", suffix: str = "") -> str:
    """Events per second, added up over processes."""
    grouped = f" by ({by})" if by else ""
    selector = f"{{{where}}}" if where else ""
    return f"sum{grouped} (rate({spec.name}{suffix}{selector}[$__rate_interval]))"


def share(part: str, whole: str) -> str:
    """A part of a whole; no value while the whole is zero."""
    return f"{part} / ({whole} > 0)"


def quantile(spec: MetricSpec, q: float, by: str = "", where: str = "") -> str:
    """A quantile of a histogram, over all processes."""
    labels = ", ".join(("le", *((by,) if by else ())))
    return f"histogram_quantile({q:g}, {rate(spec, labels, where, '_bucket')})"


def over_time(
    title: str, what: str, *queries: Query, unit: str = COUNTS_PER_S, width: int = 8, defaults: Json | None = None
) -> Panel:
    """Lines over time."""
    return Panel(title, what, queries, unit, width=width, options=LEGEND, defaults=defaults or {}, colors=COLORS)


def levels(first: str, *steps: tuple[float, str]) -> Json:
    """The colour of a value: `first`, from each step on its own. Without them Grafana makes everything over 80 red."""
    bounds = ((None, first), *steps)
    return {
        "color": {"mode": "thresholds"},
        "thresholds": {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in bounds]},
    }


def worse_from(doubtful: float, bad: float) -> Json:
    """Good below the first value, bad from the second on, which is what alerts fire at."""
    return levels(GOOD, (doubtful, DOUBTFUL), (bad, BAD))


def stat(title: str, what: str, expr: str, unit: str, colors: Json, height: int = 4) -> Panel:
    """One figure: the last value. `colors`: see `levels`."""
    defaults = colors | {"noValue": "no traffic"}
    return Panel(title, what, (Query(expr),), unit, "stat", width=4, height=height, options=LAST, defaults=defaults)


def quantiles(title: str, what: str, spec: MetricSpec, where: str = "", width: int = 8) -> Panel:
    """Median, 95th and 99th percentile over time, the last with exemplars."""
    queries = (Query(quantile(spec, q, where=where), f"p{q * 100:g}", exemplars=q == 0.99) for q in (0.5, 0.95, 0.99))
    return over_time(title, what, *queries, unit=SECONDS, defaults=FROM_ZERO, width=width)


def heatmap(title: str, what: str, spec: MetricSpec, where: str = "") -> Panel:
    """Counts by bucket over time."""
    options = {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5, "fill": "dark-orange"},
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "showValue": "never",
        "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": False},
        "yAxis": {"axisPlacement": "left", "unit": SECONDS},
    }
    return Panel(
        title, what, (Query(rate(spec, "le", where, "_bucket"), "{{le}}"),), COUNTS_PER_S, "heatmap", options=options
    )


_ASKED: Final = 'outcome!~"skipped_.*"'
_REPLIED: Final = 'outcome=~"answered|empty|cut"'
COMPLETE: Final = share(rate(m.JOIN_LANES, where=_REPLIED), rate(m.JOIN_LANES, where=_ASKED))
PRICE: Final = share(
    f'sum by (kind) (increase({m.QUALITY_HITS_TOTAL.name}{{found="alone"}}[$__range]))',
    f"sum by (kind) (increase({m.QUALITY_COMPARED_TOTAL.name}[$__range]))",
)
DEGRADED: Final = f"max by (kind, backend) ({m.BACKEND_DEGRADED.name})"
