"""Mistakes of alerts and dashboards."""

from typing import Final

from tests.deploy.planting import Mistake, both, change, drop, remove, text

_SPEAK: Final = "alerts_speak_of_what_is_there"
_FULL: Final = "alerts_come_before_the_store_is_full"
_TOLD: Final = "alerts_go_to_somebody"
_BOARDS: Final = "dashboards_are_found"
_FILLING: Final = "PrometheusRule/fanfuse-volumes"
_RULE: Final = (_FILLING, "spec", "groups", 0, "rules", 0)
_EXPR: Final = (*_RULE, "expr")
_OTHER: Final = ("PrometheusRule/fanfuse", "spec", "groups", 0, "rules", 0)
_BOARD: Final = "ConfigMap/fanfuse-dashboards"
_USED: Final = 'max(kubelet_volume_stats_used_bytes{namespace="fanfuse",persistentvolumeclaim=~"data-nats-.+"})'

ALERTS: Final[tuple[Mistake, ...]] = (
    change(_SPEAK, _FILLING, "metadata", "namespace", to="monitoring", also=("objects_stand_once_in_one_namespace",)),
    change(_SPEAK, *_EXPR, to='x{namespace="fanfuze"} > 1'),
    change(_SPEAK, *_EXPR, to='x{persistentvolumeclaim=~"store-nats-.+"} > 1'),
    both(remove(_SPEAK, "PrometheusRule/fanfuse", told="PrometheusRule"), remove("", _FILLING)),
    *(change(_FULL, *_EXPR, to=f"{_USED} > {size}") for size in ("80e9", "11000000000", "0")),
    text(_FULL, "nats.conf", "max_file_store: 10GB", "max_file_store: 5GB", told=_FILLING),
    change(_TOLD, *_RULE, "labels", "severity", to="critical"),
    drop(_TOLD, *_RULE, "labels"),
    change(_TOLD, *_OTHER, "labels", "severity", to="Page"),
    drop(_BOARDS, _BOARD, "metadata", "labels"),
    change(_BOARDS, _BOARD, "metadata", "labels", to={"grafana_dashboards": "1"}),
    change(_BOARDS, _BOARD, "metadata", "labels", "grafana_dashboard", to="0"),
    change(_BOARDS, _BOARD, "data", "operator.json", to="{"),
    change(_BOARDS, _BOARD, "data", "operator.json", to='{"panels": []}'),
    remove(_BOARDS, _BOARD, told="ConfigMap"),
)
