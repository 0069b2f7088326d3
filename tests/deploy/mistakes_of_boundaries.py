"""Mistakes of policies, namespaces, accounts and of what a pod asks of its cluster."""

from typing import Any, Final

from tests.deploy.planting import POD, Mistake, add, change, drop, more, remove, text, variable

_FUSER: Final = "Deployment/fuser"
_WORKER: Final = "NetworkPolicy/worker-vector-main"
_REACH: Final = "egress_is_what_a_pod_needs"
_SERVE: Final = "ingress_is_what_a_pod_serves"
_ONE: Final = "objects_stand_once_in_one_namespace"
_ACCOUNTS: Final = "accounts_exist_and_may_do_nothing"
_DISKS: Final = "claims_get_their_disks"
_CLAIM: Final = ("StatefulSet/nats", "spec", "volumeClaimTemplates", 0, "spec")
_KINDS: Final = "objects_are_of_kinds_that_checks_know"
_GPU: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
    }
}
_USUAL: Final = "what_pods_name_is_in_every_cluster"
_BUS: Final = ("NetworkPolicy/nats", "spec", "ingress")
_QDRANT: Final = ("spec", "egress", 0)


def rule(space: str, port: int, **more_of_it: Any) -> dict[str, Any]:
    """One rule of egress to a namespace."""
    labels = {"kubernetes.io/metadata.name": space}
    return {"to": [{"namespaceSelector": {"matchLabels": labels}}], "ports": [{"port": port, **more_of_it}]}


_EGRESSES: Final[tuple[list[dict[str, Any]], ...]] = (
    [],
    [{}],
    [rule("a", 1)],
    [rule("qdrant", 6333, protocol="UDP")],
    [rule("qdrant", 6333, endPort=7000)],
    [rule("elastic", 6333)],
    [{"to": [{"namespaceSelector": {}}], "ports": [{"port": 6333}]}],
    [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": 6333}]}],
    [{"ports": [{"port": 6333}]}],
    [rule("qdrant", 6333), {"ports": [{"port": 5432}]}],
    [rule("qdrant", 6333), rule("elastic", 9200)],
)
BOUNDARIES: Final[tuple[Mistake, ...]] = (
    remove("guarded_by_a_policy", "NetworkPolicy/nats", told="StatefulSet/nats", also=(_SERVE, _REACH)),
    remove("guarded_by_a_policy", "NetworkPolicy/nothing-by-default", told="NetworkPolicy"),
    change(
        "guarded_by_a_policy",
        "NetworkPolicy/nothing-by-default",
        "spec",
        "policyTypes",
        to=["Ingress"],
        told="NetworkPolicy",
    ),
    *(change(_REACH, _WORKER, "spec", "egress", to=rules, told="worker-vector-main") for rules in _EGRESSES),
    change(_REACH, _WORKER, *_QDRANT, "ports", 0, "port", to=9200, told="worker-vector-main"),
    change(_REACH, _WORKER, "spec", "policyTypes", to=["Ingress"], told="worker-vector-main"),
    change(
        _REACH,
        _WORKER,
        "spec",
        "podSelector",
        to={"matchLabels": {"app.kubernetes.io/name": "fuser"}},
        told="reach",
        also=(),
    ),
    change(_REACH, "NetworkPolicy/bus", "spec", "egress", to=[], told="StatefulSet/nats"),
    change(_REACH, "NetworkPolicy/bus", "spec", "egress", 0, "ports", 0, "port", to="monitor", told="StatefulSet/nats"),
    change(
        _REACH,
        "NetworkPolicy/bus",
        "spec",
        "podSelector",
        "matchExpressions",
        0,
        "values",
        to=["service"],
        told="Job/setup",
        also=("guarded_by_a_policy",),
    ),
    remove(_REACH, "NetworkPolicy/names", told="kube-dns"),
    change(_REACH, "NetworkPolicy/names", "spec", "egress", 0, "to", 0, "namespaceSelector", to={}, told="kube-dns"),
    drop(_REACH, "NetworkPolicy/names", "spec", "egress", 0, "ports", 0, told="kube-dns"),
    drop(_REACH, "NetworkPolicy/nats", "spec", "egress", told="StatefulSet/nats"),
    text(_REACH, "fanfuse.yaml", "svc.cluster.local:6333", "svc.cluster.local:6334", told="worker-vector-main"),
    text(_REACH, "fanfuse.yaml", "qdrant.qdrant.svc", "qdrant.stores.svc", told="worker-vector-main"),
    drop(_SERVE, *_BUS, 0, "from", 0, told="StatefulSet/nats"),
    change(
        _SERVE, *_BUS, 0, "from", 0, "podSelector", "matchExpressions", 0, "values", to=["service"], told="Job/setup"
    ),
    drop(_SERVE, *_BUS, 0, "from", told="NetworkPolicy/nats lets StatefulSet/nats be reached by anywhere"),
    drop(_SERVE, *_BUS, 2, "from", told="NetworkPolicy/nats lets StatefulSet/nats be reached by anywhere"),
    drop(_SERVE, *_BUS, 0, "ports", told="NetworkPolicy/nats lets StatefulSet/nats be reached by"),
    drop(_SERVE, *_BUS, 1, told="StatefulSet/nats"),
    change(_SERVE, *_BUS, 2, "from", 0, "namespaceSelector", to={}, told="be reached by every namespace"),
    change(
        _SERVE,
        *_BUS,
        2,
        "from",
        0,
        "namespaceSelector",
        "matchExpressions",
        0,
        "values",
        to=["monitoring"],
        told="namespace keda",
    ),
    more(
        _SERVE,
        *_BUS,
        item={"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": "client"}]},
        told="NetworkPolicy/nats",
    ),
    change(_SERVE, "NetworkPolicy/services", "spec", "policyTypes", to=["Egress"], told="namespace monitoring"),
    change(_SERVE, "NetworkPolicy/services", "spec", "ingress", to=[{}], told="be reached by"),
    change(_ONE, _FUSER, "metadata", "namespace", to="default"),
    drop(_ONE, _FUSER, "metadata", "namespace"),
    change(_ONE, "Namespace/fanfuse", "metadata", "name", to="fanfuze", told="fanfuze"),
    drop(_ONE, "Namespace/fanfuse", "metadata", "labels"),
    change(_ONE, "Namespace/fanfuse", "metadata", "labels", "pod-security.kubernetes.io/enforce", to="privileged"),
    remove(_ONE, "Namespace/fanfuse", told="namespaces"),
    add(_ONE, "ServiceAccount", "fuser", automountServiceAccountToken=False),
    remove(_ACCOUNTS, "ServiceAccount/health"),
    change(_ACCOUNTS, _FUSER, *POD, "serviceAccountName", to="health", told="ServiceAccount/health"),
    drop(_ACCOUNTS, _FUSER, *POD, "serviceAccountName"),
    drop(_ACCOUNTS, "ServiceAccount/fuser", "automountServiceAccountToken"),
    add(
        _ACCOUNTS,
        "RoleBinding",
        roleRef={"kind": "ClusterRole", "name": "edit"},
        subjects=[{"kind": "ServiceAccount", "name": "fuser"}],
    ),
    add(_ACCOUNTS, "ClusterRoleBinding", roleRef={"kind": "ClusterRole", "name": "cluster-admin"}),
    *(
        change(_USUAL, _FUSER, *POD, field, to=to)
        for field, to in (
            ("priorityClassName", "high"),
            ("runtimeClassName", "gvisor"),
            ("nodeName", "node-1"),
            ("schedulerName", "mine"),
            ("dnsPolicy", "Default"),
            ("nodeSelector", {"disk": "ssd"}),
            ("nodeSelector", {"kubernetes.io/rack": "a"}),
            ("nodeSelector", {"topology.kubernetes.io/zones": "a"}),
            ("hostAliases", [{"ip": "192.0.2.1", "hostnames": ["nats"]}]),
        )
    ),
    change(_USUAL, _FUSER, *POD, "imagePullSecrets", to=[{"name": "pull"}], told="imagePullSecrets ['pull']"),
    change(_USUAL, _FUSER, *POD, "hostAliases", to=[{"ip": "192.0.2.1"}], told="hostAliases"),
    more(_REACH, _WORKER, "spec", "egress", item=rule("observability", 4317), told="worker-vector-main"),
    variable(_REACH, _FUSER, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://traces.observability.svc:4317"),
    variable(_REACH, _FUSER, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317"),
    change(_DISKS, *_CLAIM, "storageClassName", to=""),
    change(_DISKS, *_CLAIM, "storageClassName", to="Fast Disk"),
    change(_DISKS, *_CLAIM, "volumeMode", to="Block"),
    change(_DISKS, "PersistentVolumeClaim/all-in-one", "spec", "storageClassName", to="", overlay="dev"),
    change(_USUAL, _FUSER, *POD, "affinity", to={"nodeAffinity": _GPU}),
    add(_KINDS, "LimitRange", spec={"limits": [{"type": "Container", "max": {"memory": "512Mi"}}]}),
    add(_KINDS, "ResourceQuota", spec={"hard": {"pods": "5"}}),
)
