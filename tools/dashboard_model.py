"""A Grafana dashboard as data, and as the JSON that Grafana reads.

In: rows of panels with their queries. Out: the document, with ids, places and the data source filled in. Knows nothing
of what is measured.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]

_DATASOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS: Final = 24
_SCHEMA_VERSION: Final = 39


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL expression, and how its series are called."""

    expr: str
    legend: str = ""
    exemplars: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `unit` is Grafana's name of it."""

    title: str
    what: str
    queries: tuple[Query, ...]
    unit: str = "short"
    type: str = "timeseries"
    width: int = 8
    height: int = 8
    options: Json = field(default_factory=dict)
    defaults: Json = field(default_factory=dict)
    colors: Mapping[str, str] = field(default_factory=dict)
    """Of series by their name, where one is called so."""

    @property
    def is_instant(self) -> bool:
        """True if only the last value is shown."""
        return self.type in {"stat", "bargauge"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice of label values above the panels."""

    name: str
    label: str
    query: str
    multi: bool = False


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Rows of panels."""

    uid: str
    title: str
    what: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    variables: tuple[Variable, ...] = ()


def to_json(dashboard: Dashboard) -> Json:
    """The document that Grafana reads."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.what,
        "tags": ["fanfuse"],
        "schemaVersion": _SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timepicker": {},
        "annotations": {"list": []},
        "links": [
            {
                "title": "Fanfuse",
                "type": "dashboards",
                "tags": ["fanfuse"],
                "asDropdown": False,
                "icon": "external link",
                "includeVars": False,
                "keepTime": True,
                "targetBlank": False,
                "tooltip": "",
            }
        ],
        "templating": {"list": [_datasource(), *map(_variable, dashboard.variables)]},
        "panels": _placed(dashboard),
    }


def _datasource() -> Json:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1}


def _variable(variable: Variable) -> Json:
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": variable.query, "refId": f"variable-{variable.name}"},
        "refresh": 2,
        "sort": 1,
        "multi": variable.multi,
        "includeAll": variable.multi,
    }


def _placed(dashboard: Dashboard) -> list[Json]:
    placed: list[Json] = []
    top = 0
    for title, panels in dashboard.rows:
        placed.append(
            {
                "id": len(placed) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "panels": [],
                "gridPos": {"h": 1, "w": _COLUMNS, "x": 0, "y": top},
            }
        )
        top += 1
        left = tallest = 0
        for panel in panels:
            if left + panel.width > _COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            placed.append(_panel(panel, len(placed) + 1, left, top))
            left, tallest = left + panel.width, max(tallest, panel.height)
        top += tallest
    return placed


def _panel(panel: Panel, number: int, left: int, top: int) -> Json:
    return {
        "id": number,
        "type": panel.type,
        "title": panel.title,
        "description": panel.what,
        "datasource": _DATASOURCE,
        "gridPos": {"h": panel.height, "w": panel.width, "x": left, "y": top},
        "targets": [_target(query, panel, position) for position, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": {"unit": panel.unit} | panel.defaults, "overrides": _colored(panel)},
        "options": panel.options,
    }


def _colored(panel: Panel) -> list[Json]:
    # Only a series that is called by one label alone can have such a name.
    if not any(re.fullmatch(r"\{\{(status|outcome)\}\}", query.legend) for query in panel.queries):
        return []
    return [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}],
        }
        for name, color in panel.colors.items()
    ]


def _target(query: Query, panel: Panel, position: int) -> Json:
    return {
        "refId": chr(ord("A") + position),
        "datasource": _DATASOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "legendFormat": query.legend,
        "instant": panel.is_instant,
        "range": not panel.is_instant,
        "exemplar": query.exemplars,
        "format": "heatmap" if panel.type == "heatmap" else "time_series",
    }
