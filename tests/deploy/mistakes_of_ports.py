"""Mistakes of ports, addresses, probes and scraping."""

from typing import Final

from tests.deploy.planting import POD, SERVER, SERVICE, Mistake, both, change, drop, more, remove, text, variable

_FUSER: Final = "Deployment/fuser"
_BUS: Final = "Service/nats"
_MONITOR: Final = ("PodMonitor/fanfuse", "spec")
_ENDPOINT: Final = (*_MONITOR, "podMetricsEndpoints", 0)
_READY: Final = (*SERVICE, "readinessProbe")
_LIVE: Final = (*SERVICE, "livenessProbe")
_TIME: Final = "probes_leave_time_and_find_the_dead"
_PORTS: Final = (*SERVICE, "ports")

PORTS: Final[tuple[Mistake, ...]] = (
    change("ports_exist", _BUS, "spec", "ports", 0, "targetPort", to="clients", also=("addresses_lead_to_the_bus",)),
    change("ports_exist", _BUS, "spec", "ports", 0, "targetPort", to=4223, also=("addresses_lead_to_the_bus",)),
    change("ports_exist", _BUS, "spec", "ports", 0, "protocol", to="UDP"),
    change("ports_exist", "Service/nats-headless", "spec", "ports", 2, "targetPort", to=8223),
    change("ports_exist", *_ENDPOINT, "port", to="metrics"),
    both(drop("ports_exist", *_ENDPOINT, "port"), change("", *_ENDPOINT, "portNumber", to=8001)),
    *(
        more(
            "ports_exist",
            "NetworkPolicy/nats",
            "spec",
            "ingress",
            0,
            "ports",
            item={"port": port, "protocol": "TCP"},
            also=("ingress_is_what_a_pod_serves",),
        )
        for port in ("nats", 4223)
    ),
    change("ports_exist", _FUSER, *_READY, "httpGet", "port", to="http"),
    change("ports_exist", _FUSER, *_READY, "httpGet", "port", to=8001),
    change("ports_exist", _FUSER, *SERVICE, "lifecycle", to={"preStop": {"httpGet": {"path": "/", "port": 9}}}),
    change(
        "ports_exist",
        "StatefulSet/nats",
        *SERVER,
        "livenessProbe",
        to={"tcpSocket": {"port": 4223}, "timeoutSeconds": 5},
        also=("probes_ask_what_answers",),
    ),
    more("ports_are_stated_once", _FUSER, *_PORTS, item={"name": "other", "containerPort": 8000}),
    more("ports_are_stated_once", _FUSER, *_PORTS, item={"name": "ops", "containerPort": 8001}),
    more(
        "ports_are_stated_once",
        "StatefulSet/nats",
        *POD,
        "containers",
        "reloader",
        "ports",
        item={"containerPort": 4222},
    ),
    more("ports_are_stated_once", _BUS, "spec", "ports", item={"name": "again", "port": 4222, "targetPort": "client"}),
    more("ports_are_stated_once", _BUS, "spec", "ports", item={"name": "client", "port": 4, "targetPort": "client"}),
    variable("processes_listen_where_they_are_asked", _FUSER, "FANFUSE_OPS_PORT", "8001"),
    variable("processes_listen_where_they_are_asked", _FUSER, "FANFUSE_OPS_PORT", None),
    variable("processes_listen_where_they_are_asked", _FUSER, "FANFUSE_OPS_HOST", "127.0.0.1"),
    change("processes_listen_where_they_are_asked", _FUSER, *_PORTS, 0, "containerPort", to=8001),
    change(
        "processes_listen_where_they_are_asked", "Deployment/all-in-one", *SERVICE, "args", 2, to="8001", overlay="dev"
    ),
    change(
        "servers_listen_where_they_are_asked",
        "StatefulSet/nats",
        *SERVER,
        "ports",
        "client",
        "containerPort",
        to=4223,
        also=("addresses_lead_to_the_bus",),
    ),
    text("servers_listen_where_they_are_asked", "nats.conf", "0.0.0.0:4222", "127.0.0.1:4222"),
    text("servers_listen_where_they_are_asked", "nats.conf", ":4222", ":4223", also=("addresses_lead_to_the_bus",)),
    text("servers_listen_where_they_are_asked", "nats.conf", ":8222", ":8223", also=("triggers_ask_the_servers",)),
    text("servers_listen_where_they_are_asked", "cluster.conf", "0.0.0.0:6222", "0.0.0.0:6223"),
    variable("addresses_lead_to_the_bus", _FUSER, "NATS_URL", "nats://natz:4222"),
    variable("addresses_lead_to_the_bus", _FUSER, "NATS_URL", "nats://nats:4223"),
    variable("addresses_lead_to_the_bus", "Job/setup", "NATS_URL", None),
    change(
        "addresses_lead_to_the_bus",
        _BUS,
        "spec",
        "ports",
        0,
        "targetPort",
        to="monitor",
        told="nats",
        also=("services_lead_to_one_workload",),
    ),
    change("addresses_lead_to_the_bus", _BUS, "spec", "ports", 0, "port", to=4223),
    remove("addresses_lead_to_the_bus", _BUS, told="nats"),
    change("probes_ask_what_answers", _FUSER, *_LIVE, "httpGet", "path", to="/readyz"),
    change("probes_ask_what_answers", _FUSER, *_READY, "httpGet", "path", to="/ready"),
    change("probes_ask_what_answers", _FUSER, *_READY, "httpGet", "scheme", to="HTTPS"),
    change("probes_ask_what_answers", "StatefulSet/nats", *SERVER, "livenessProbe", "httpGet", "path", to="/healthz"),
    change(
        "every_process_is_scraped",
        *_MONITOR,
        "selector",
        to={"matchLabels": {"app.kubernetes.io/name": "health"}},
        told="scraped by nobody",
    ),
    change("every_process_is_scraped", *_MONITOR, "namespaceSelector", to={"matchNames": ["default"]}),
    change("every_process_is_scraped", *_ENDPOINT, "path", to="/metric"),
    change("every_process_is_scraped", *_ENDPOINT, "scheme", to="https"),
    change("every_process_is_scraped", *_ENDPOINT, "relabelings", to=[]),
    change("every_process_is_scraped", *_MONITOR, "podMetricsEndpoints", to=[], told="PodMonitor/fanfuse"),
    drop("probes_ask_what_answers", _FUSER, *_READY, "httpGet"),
    change("probes_ask_what_answers", _FUSER, *_READY, "exec", to={"command": ["true"]}),
    *(
        change("probes_ask_what_answers", "StatefulSet/nats", *SERVER, probe, "httpGet", "path", to=path)
        for probe, path in (
            ("startupProbe", "/healthz?js-enabled-only=true"),
            ("readinessProbe", "/healthz"),
            ("livenessProbe", "/healthz?js-server-only=true"),
        )
    ),
    drop(_TIME, _FUSER, *SERVICE, "startupProbe", "failureThreshold"),
    change(_TIME, _FUSER, *SERVICE, "startupProbe", "periodSeconds", to=0),
    change(_TIME, "StatefulSet/nats", *SERVER, "startupProbe", "failureThreshold", to=10),
    change(_TIME, _FUSER, *_LIVE, "periodSeconds", to=1000),
    change(_TIME, _FUSER, *_READY, "initialDelaySeconds", to=500),
    change(_TIME, _FUSER, *SERVICE, "startupProbe", "failureThreshold", to=6000),
    change(_TIME, _FUSER, *_LIVE, "timeoutSeconds", to=500),
    change("every_process_is_scraped", *_ENDPOINT, "interval", to="10m"),
    remove("every_process_is_scraped", "PodMonitor/fanfuse", told="scraped by nobody"),
    variable("addresses_lead_to_the_bus", _FUSER, "NATS_URL", "nats://nats.other:4222"),
    variable("addresses_lead_to_the_bus", _FUSER, "NATS_URL", "nats://nats-headless:4222"),
    variable("variables_are_known_and_valid", _FUSER, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://metrics:4317"),
)
