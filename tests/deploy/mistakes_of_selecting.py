"""Mistakes of selectors, services, budgets and the spread over nodes."""

from typing import Final

from tests.deploy.planting import POD, Mistake, add, change, drop, more, remove, text, twin

_FUSER: Final = "Deployment/fuser"
_NAME: Final = "app.kubernetes.io/name"
_ELSEWHERE: Final = {"matchLabels": {_NAME: "fusor"}}
_OTHERS: Final = {"matchLabels": {_NAME: "classifier"}}
_EVERYBODY: Final = {"matchLabels": {"fanfuse.dev/process": "service"}}
_BUDGET: Final = {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
_HPA: Final = ("ScaledObject/fuser", "spec")
_SPREAD: Final = (*POD, "topologySpreadConstraints")
_ANTI: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": _ELSEWHERE}]
}
_TOGETHER: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {_NAME: "fuser"}}}
    ]
}
_SOFT: Final = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": _OTHERS}}
    ]
}

SELECTING: Final[tuple[Mistake, ...]] = (
    change("selectors_meet_labels", _FUSER, "spec", "selector", to=_ELSEWHERE),
    change("selectors_meet_labels", _FUSER, "spec", "selector", to=_EVERYBODY),
    change(
        "selectors_meet_labels",
        "Service/nats",
        "spec",
        "selector",
        to={_NAME: "nat"},
        also=("addresses_lead_to_the_bus",),
    ),
    drop("selectors_meet_labels", "Service/nats", "spec", "selector", also=("addresses_lead_to_the_bus",)),
    add("selectors_meet_labels", "NetworkPolicy", spec={"podSelector": _ELSEWHERE, "policyTypes": ["Egress"]}),
    add("selectors_meet_labels", "PodDisruptionBudget", spec={"selector": _ELSEWHERE, **_BUDGET}),
    change(
        "selectors_meet_labels",
        "PodMonitor/fanfuse",
        "spec",
        "selector",
        to=_ELSEWHERE,
        also=("every_process_is_scraped",),
    ),
    add(
        "services_lead_to_one_workload",
        "Service",
        spec={"selector": {"fanfuse.dev/process": "service"}, "ports": [{"port": 80, "targetPort": "ops"}]},
    ),
    change("services_lead_to_one_workload", "Service/nats", "spec", "type", to="LoadBalancer"),
    change("services_lead_to_one_workload", "Service/nats", "spec", "type", to="NodePort"),
    change("services_lead_to_one_workload", "Service/nats", "spec", "externalIPs", to=["192.0.2.1"]),
    change("services_lead_to_one_workload", "Service/nats", "spec", "internalTrafficPolicy", to="Local"),
    add("services_lead_to_one_workload", "Ingress", spec={"defaultBackend": {"service": {"name": "nats"}}}),
    change(
        "servers_know_each_other",
        "StatefulSet/nats",
        "spec",
        "serviceName",
        to="nats-headles",
        also=("routes_lead_to_every_server",),
    ),
    change(
        "servers_know_each_other",
        "StatefulSet/nats",
        "spec",
        "serviceName",
        to="nats",
        also=("routes_lead_to_every_server",),
    ),
    change(
        "servers_know_each_other",
        "Service/nats-headless",
        "spec",
        "selector",
        to={_NAME: "fuser"},
        also=("ports_exist",),
    ),
    drop(
        "servers_know_each_other",
        "Service/nats-headless",
        "spec",
        "clusterIP",
        told="nats-headless",
        also=(
            "services_lead_to_one_workload",
            "triggers_ask_the_servers",
        ),
    ),
    remove(
        "servers_know_each_other", "Service/nats-headless", told="nats-headless", also=("triggers_ask_the_servers",)
    ),
    drop("servers_know_each_other", "Service/nats-headless", "spec", "publishNotReadyAddresses"),
    change("servers_know_each_other", "StatefulSet/nats", "spec", "podManagementPolicy", to="OrderedReady"),
    drop("servers_know_each_other", "StatefulSet/nats", "spec", "podManagementPolicy"),
    remove("one_budget_each", "PodDisruptionBudget/worker-graph-main", told="Deployment/worker-graph-main"),
    twin("one_budget_each", "PodDisruptionBudget/fuser", "fuser-again"),
    change(
        "one_budget_each",
        "PodDisruptionBudget/fuser",
        "spec",
        "selector",
        to=_EVERYBODY,
        told="PodDisruptionBudget/fuser",
    ),
    change("budgets_let_a_node_drain_and_no_stage_go", "PodDisruptionBudget/fuser", "spec", "minAvailable", to=1),
    change("budgets_let_a_node_drain_and_no_stage_go", "PodDisruptionBudget/fuser", "spec", "maxUnavailable", to=0),
    change("budgets_let_a_node_drain_and_no_stage_go", "PodDisruptionBudget/fuser", "spec", "maxUnavailable", to="0%"),
    change(
        "budgets_let_a_node_drain_and_no_stage_go", "PodDisruptionBudget/fuser", "spec", "maxUnavailable", to="100%"
    ),
    change("budgets_let_a_node_drain_and_no_stage_go", "PodDisruptionBudget/nats", "spec", "maxUnavailable", to=2),
    drop("budgets_let_a_node_drain_and_no_stage_go", "PodDisruptionBudget/nats", "spec", "unhealthyPodEvictionPolicy"),
    change(
        "budgets_let_a_node_drain_and_no_stage_go",
        "PodDisruptionBudget/all-in-one",
        "spec",
        "minAvailable",
        to=1,
        overlay="dev",
    ),
    change("nothing_runs_alone", "Deployment/health", "spec", "replicas", to=1),
    change("nothing_runs_alone", "Deployment/health", "spec", "replicas", to=0),
    change("nothing_runs_alone", *_HPA, "minReplicaCount", to=1, told=_FUSER),
    change("nothing_runs_alone", *_HPA, "minReplicaCount", to=0, told=_FUSER),
    change("nothing_runs_alone", *_HPA, "idleReplicaCount", to=0, told=_FUSER),
    remove("nothing_runs_alone", "ScaledObject/fuser", told=_FUSER),
    change("nothing_runs_alone", _FUSER, "spec", "strategy", to={"type": "Recreate"}),
    change("nothing_runs_alone", _FUSER, "spec", "strategy", "rollingUpdate", "maxUnavailable", to="100%"),
    drop("copies_are_spread", _FUSER, *_SPREAD),
    drop("copies_are_spread", _FUSER, *_SPREAD, 1),
    change("copies_are_spread", _FUSER, *_SPREAD, 0, "labelSelector", to=_ELSEWHERE),
    drop("copies_are_spread", _FUSER, *_SPREAD, 0, "labelSelector"),
    more("copies_are_spread", _FUSER, *_SPREAD, 0, "matchLabelKeys", item="app.kubernetes.io/nam"),
    change("copies_are_spread", "StatefulSet/nats", *_SPREAD, 1, "whenUnsatisfiable", to="ScheduleAnyway"),
    change("copies_are_spread", _FUSER, *POD, "affinity", to={"podAntiAffinity": _ANTI}),
    change("copies_are_spread", "StatefulSet/nats", *POD, "affinity", to={"podAffinity": _SOFT}),
    drop("copies_are_spread", _FUSER, *_SPREAD, 0),
    drop("copies_are_spread", _FUSER, *_SPREAD, 0, "matchLabelKeys"),
    drop("copies_are_spread", _FUSER, *_SPREAD, 1, "matchLabelKeys", 0),
    change("copies_are_spread", "StatefulSet/nats", *_SPREAD, 1, "maxSkew", to=2),
    change("copies_are_spread", "StatefulSet/nats", *_SPREAD, 1, "labelSelector", to={}),
    change("copies_are_spread", "StatefulSet/nats", *_SPREAD, 1, "labelSelector", "matchLabels", to={}),
    change("nothing_runs_alone", _FUSER, "spec", "strategy", "rollingUpdate", "maxSurge", to=0),
    change("nothing_runs_alone", "Deployment/all-in-one", "spec", "replicas", to=0, overlay="dev"),
    text("routes_lead_to_every_server", "cluster.conf", "nats-2.", "nats-3."),
    text("routes_lead_to_every_server", "cluster.conf", "nats-headless", "nats"),
    text("routes_lead_to_every_server", "cluster.conf", "nats-2.nats-headless:6222", "nats-2.nats-headless:4222"),
    change("services_lead_to_one_workload", "Service/nats", "spec", "publishNotReadyAddresses", to=True),
    more(
        "services_lead_to_one_workload",
        "Service/nats",
        "spec",
        "ports",
        item={"name": "monitor", "port": 8222, "targetPort": "monitor"},
    ),
    change("copies_are_spread", _FUSER, *POD, "affinity", to={"podAffinity": _TOGETHER}),
)
