"""Changes of an overlay that deploy/README.md and OPERATING.md have the reader make, or leave to their choice.

In: nothing. Out: each as it changes rendered objects, by what it is. No check may speak of one.
"""

import copy
import json
from collections.abc import Callable, Iterable
from typing import Any, Final

import yaml

from fanfuse_all_in_one.deploying.nats_users import render_account_per_tenant, render_one_account
from fanfuse_all_in_one.deploying.users_file import UsersFile
from fanfuse_contracts import permissions
from fanfuse_contracts.enums import Kind
from tests.deploy.manifests import Object, is_process, pod, template
from tests.deploy.mistakes_of_boundaries import rule
from tests.deploy.planting import POOLS, find
from tests.deploy.rendered import Objects

HOT: Final = (Kind.VECTOR, "hot")
_TRACES: Final = {
    "name": "OTEL_EXPORTER_OTLP_ENDPOINT",
    "value": "http://collector.observability.svc.cluster.local:4317",
}
_SERVICE: Final = {"matchLabels": {"fanfuse.dev/process": "service"}}
_USED: Final = 'max(kubelet_volume_stats_used_bytes{namespace="fanfuse",persistentvolumeclaim=~"data-nats-.+"})'
_NODES: Final = {"kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "a", "kubernetes.io/os": "linux"}
Change = Callable[[Objects], None]


def _of_kind(those: Objects, *kinds: str) -> Iterable[Object]:
    return (each for each in those if each["kind"] in kinds)


def _pods(those: Objects) -> Iterable[Object]:
    return _of_kind(those, "Deployment", "StatefulSet", "Job")


def _file(those: Objects, file: str) -> dict[str, str]:
    """The data of the ConfigMap that holds it."""
    found: dict[str, str] = next(each["data"] for each in those if file in each.get("data", {}))
    return found


def another_class_of_disk(those: Objects) -> None:
    find(those, "StatefulSet/nats")["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] = "fast"


def more_disk(those: Objects) -> None:
    claim = find(those, "StatefulSet/nats")["spec"]["volumeClaimTemplates"][0]["spec"]
    claim["resources"]["requests"]["storage"] = "200Gi"
    data = _file(those, "nats.conf")
    data["nats.conf"] = data["nats.conf"].replace("max_file_store: 10GB", "max_file_store: 100GB")
    find(those, "PrometheusRule/fanfuse-volumes")["spec"]["groups"][0]["rules"][0]["expr"] = f"{_USED} > 80e9"


def traces_with_their_policy(those: Objects) -> None:
    for each in filter(is_process, _pods(those)):
        if each["kind"] == "Deployment":
            pod(each)["containers"][0]["env"].append(_TRACES)
    policy = {"podSelector": _SERVICE, "policyTypes": ["Egress"], "egress": [rule("observability", 4317)]}
    those.append({"kind": "NetworkPolicy", "metadata": {"name": "traces", "namespace": "fanfuse"}, "spec": policy})


def a_registry_in_postgresql(those: Objects) -> None:
    """Its address is in the Secret `fanfuse-registry`, the policy beside it."""
    everybody = {"matchExpressions": [{"key": "fanfuse.dev/process", "operator": "Exists"}]}
    policy = {"podSelector": everybody, "policyTypes": ["Egress"], "egress": [rule("postgres", 5432)]}
    those.append({"kind": "NetworkPolicy", "metadata": {"name": "registry", "namespace": "fanfuse"}, "spec": policy})


def an_image_by_its_digest(those: Objects) -> None:
    pod(find(those, "Deployment/fuser"))["containers"][0]["image"] = f"fanfuse/fuser@sha256:{'0' * 64}"


def tags_with_digests(those: Objects) -> None:
    for each in _pods(those):
        for at, container in enumerate(pod(each)["containers"]):
            container["image"] += f"@sha256:{at}{'0' * 63}"


def images_of_a_private_registry(those: Objects) -> None:
    for each in _pods(those):
        for container in pod(each)["containers"]:
            container["image"] = f"registry.example.org:5000/{container['image']}"
    for each in _of_kind(those, "ServiceAccount"):
        each["imagePullSecrets"] = [{"name": "registry"}]


def fewer_while_the_lag_is_unknown(those: Objects) -> None:
    """The shipped behaviour keeps those that run."""
    for each in _of_kind(those, "ScaledObject"):
        each["spec"]["minReplicaCount"] = 3
        each["spec"]["fallback"]["replicas"] = 1


def more_replicas(those: Objects) -> None:
    find(those, "Deployment/health")["spec"]["replicas"] = 3


def nobody_scales(those: Objects) -> None:
    """Without the component `keda`, workers made with `--no-keda`."""
    for each in list(_of_kind(those, "ScaledObject")):
        those.remove(each)
        find(those, f"Deployment/{each['metadata']['name']}")["spec"]["replicas"] = 2


def labels_and_annotations_on_all(those: Objects) -> None:
    for metadata in (*(each["metadata"] for each in those), *(template(each)["metadata"] for each in _pods(those))):
        metadata.setdefault("labels", {})["release"] = "kube-prometheus-stack"
        metadata.setdefault("annotations", {})["example.org/owner"] = "search"


def larger_resources(those: Objects) -> None:
    for each in filter(is_process, _pods(those)):
        larger = {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"cpu": "8", "memory": "16Gi"}}
        pod(each)["containers"][0]["resources"] = larger


def nodes_by_labels_that_all_have(those: Objects) -> None:
    for each in _pods(those):
        pod(each)["nodeSelector"] = dict(_NODES)


def _users(pools: Iterable[tuple[Kind, str]], tenants: Iterable[str]) -> UsersFile:
    """A key for each, of letters that a key may have."""
    services = [one.user for one in permissions.of_everyone(pools, ())]
    keys = (f"U{chr(ord('A') + at) * 55}" for at in range(26))
    return UsersFile(
        services={user: (next(keys),) for user in services}, tenants={one: (next(keys),) for one in tenants}
    )


def more_tenants_and_connections(those: Objects) -> None:
    users = _users(POOLS, ("acme", "globex"))
    _file(those, "users.conf")["users.conf"] = render_account_per_tenant(users, POOLS, 50)


def everybody_in_one_account(those: Objects) -> None:
    _file(those, "users.conf")["users.conf"] = render_one_account(_users(POOLS, ("acme",)), POOLS)


def a_key_that_is_changed(those: Objects) -> None:
    """OPERATING.md: a service has two while its pods take the new one."""
    users = _users(POOLS, ("acme",)).with_service("FUSER", "U" + "7" * 55)
    _file(those, "users.conf")["users.conf"] = render_account_per_tenant(users, POOLS)


def a_hot_pool(those: Objects) -> None:
    """OPERATING.md: a hot corpus gets workers of its own."""
    data = _file(those, "fanfuse.yaml")
    config: dict[str, Any] = yaml.safe_load(data["fanfuse.yaml"])
    config["backends"]["vector"]["hot"] = copy.deepcopy(config["backends"]["vector"]["main"])
    data["fanfuse.yaml"] = yaml.safe_dump(config)
    pools = (*POOLS, HOT)
    _file(those, "users.conf")["users.conf"] = render_account_per_tenant(_users(pools, ("acme",)), pools)
    main = [each for each in those if each["metadata"]["name"] == "worker-vector-main"]
    text = json.dumps(main).replace("vector-main", "vector-hot").replace("VECTOR-MAIN", "VECTOR-HOT")
    those.extend(json.loads(text.replace("vector/main", "vector/hot")))


ALLOWED: Final[tuple[Change, ...]] = (
    another_class_of_disk,
    more_disk,
    traces_with_their_policy,
    a_registry_in_postgresql,
    an_image_by_its_digest,
    tags_with_digests,
    images_of_a_private_registry,
    fewer_while_the_lag_is_unknown,
    more_replicas,
    nobody_scales,
    labels_and_annotations_on_all,
    larger_resources,
    nodes_by_labels_that_all_have,
    more_tenants_and_connections,
    everybody_in_one_account,
    a_key_that_is_changed,
    a_hot_pool,
)
