"""Scaling: a ScaledObject scales what is there, alone, on the consumer that its target's user fetches from.

In: the objects of an overlay, and which consumers exist. Out: one line per fault, with the object that has it. DEP-02.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT
from fanfuse_contracts import limits
from fanfuse_contracts.enums import Stage
from tests.deploy.manifests import Cluster, Object, image, name, pod, quantity, variables
from tests.deploy.nats_conf import stated

_BLIND: Final = 10
_SOON_S: Final = 30
_LATE_S: Final = 60
_IN_HAND: Final = {
    Stage.CLASSIFIER.value: ("FANFUSE_CLASSIFIER_IN_FLIGHT", limits.CLASSIFIER_IN_FLIGHT),
    Stage.CORPUS_ROUTER.value: ("FANFUSE_ROUTER_IN_FLIGHT", limits.ROUTER_IN_FLIGHT),
    Stage.BACKEND_WORKERS.value: ("FANFUSE_WORKER_IN_FLIGHT", limits.WORKER_IN_FLIGHT),
    Stage.FUSER.value: ("FANFUSE_FUSER_IN_FLIGHT", limits.FUSER_IN_FLIGHT),
}
"""What a replica handles at a time: the variable, and where it is not stated."""
_REQUIRED: Final = ("natsServerMonitoringEndpoint", "account", "stream", "consumer", "lagThreshold")


def scaled_objects_fit_their_targets(cluster: Cluster) -> Iterator[str]:
    for each in cluster.all("ScaledObject"):
        target = each["spec"]["scaleTargetRef"]
        scaled = cluster.get(target.get("kind", "Deployment"), target["name"])
        if scaled is None or scaled["kind"] != "Deployment":
            yield f"{name(each)} scales {target}, which is no Deployment"
        elif "replicas" in scaled["spec"]:
            yield f"{name(each)} scales {target['name']}, which states its replicas itself: each apply sets them back"
        paused = [
            key for key in each["metadata"].get("annotations", {}) if key.startswith("autoscaling.keda.sh/paused")
        ]
        if paused:
            yield f"{name(each)} does nothing: {paused}"


def bounds_are_stated_and_hold(cluster: Cluster) -> Iterator[str]:
    """`fallback` is what runs while nobody knows the lag: none would be an outage, more than the most is refused.

    With `currentReplicasIfHigher` those that run go on, and the HPA never goes below the least: there fewer take
    nothing away. With another behaviour they do, when a burst and a blind scaler come together.
    """
    for each in cluster.all("ScaledObject"):
        spec = each["spec"]
        least, most = spec.get("minReplicaCount", 0), spec.get("maxReplicaCount")
        if most is None or least > most or spec.get("idleReplicaCount", 0) > least:
            yield f"{name(each)} has bounds that contradict themselves: {least} to {most}"
            continue
        replicas = spec.get("fallback", {}).get("replicas")
        keeps = spec.get("fallback", {}).get("behavior") == "currentReplicasIfHigher"
        needed = 1 if keeps else max(least, 1)
        if replicas is None or not needed <= replicas <= most:
            yield f"{name(each)} falls back to {replicas} replicas: state {needed} to {most}"
        if not 1 <= spec.get("fallback", {}).get("failureThreshold", 1) <= _BLIND:
            yield f"{name(each)} goes on blind: fallback.failureThreshold"


def scaling_keeps_up(cluster: Cluster) -> Iterator[str]:
    """Queries have seconds: it looks often, grows at once, and gives back only what is not needed for minutes."""
    for each in cluster.all("ScaledObject"):
        spec = each["spec"]
        behaviour = spec.get("advanced", {}).get("horizontalPodAutoscalerConfig", {}).get("behavior", {})
        up, down = behaviour.get("scaleUp", {}), behaviour.get("scaleDown", {})
        for way, rules in (("grow", up), ("shrink", down)):
            steps = [row.get("value", 0) * row.get("periodSeconds", 0) for row in rules.get("policies", ())]
            if rules.get("selectPolicy") == "Disabled" or not all(steps) or ("policies" in rules and not steps):
                yield f"{name(each)} can never {way}"
        slow = [row for row in up.get("policies", ()) if row.get("periodSeconds", 0) > 2 * _SOON_S]
        if (
            slow
            or up.get("stabilizationWindowSeconds", 0) > _SOON_S
            or not 0 < spec.get("pollingInterval", 30) <= _SOON_S
        ):
            yield f"{name(each)} sees a burst when it is over: pollingInterval, scaleUp"
        if not _LATE_S <= down.get("stabilizationWindowSeconds", 300) <= 3600:
            yield f"{name(each)} gives back at once what the next burst needs: scaleDown.stabilizationWindowSeconds"
        if not spec.get("triggers"):
            yield f"{name(each)} scales on nothing"


def replicas_come_before_they_are_full(cluster: Cluster) -> Iterator[str]:
    """`lagThreshold` is work per replica: more than a replica takes in hand at a time waits for ever."""
    for each, trigger in _triggers(cluster):
        target = cluster.get("Deployment", each["spec"]["scaleTargetRef"]["name"])
        if target is None:
            continue
        container = pod(target)["containers"][0]
        variable, usual = _IN_HAND.get(image(container), ("", 0))
        at_once = quantity(variables(container).get(variable, usual))
        lag = str(trigger["metadata"].get("lagThreshold", "1"))
        if at_once and lag.isdigit() and int(lag) > at_once:
            yield f"{name(each)} grows at a lag of {lag}, where a replica of {name(target)} takes {at_once:g}"


def each_target_has_one_scaler(cluster: Cluster) -> Iterator[str]:
    """Two autoscalers take turns with what each takes for right; two equal triggers count the same work twice."""
    scalers: dict[str, list[str]] = {}
    for each in cluster.all("ScaledObject", "HorizontalPodAutoscaler", "VerticalPodAutoscaler"):
        spec = each["spec"]
        target = spec.get("scaleTargetRef") or spec.get("targetRef")
        scalers.setdefault(target["name"], []).append(name(each))
    for target, names in scalers.items():
        if len(names) > 1:
            yield f"{target} is scaled by {sorted(names)}: keep one"
    hpas = Counter(_hpa(each) for each in cluster.all("ScaledObject"))
    yield from (f"{[name(e) for e in cluster.all('ScaledObject') if _hpa(e) == hpa]} make one HPA, {hpa}"
                for hpa, count in hpas.items() if count > 1)  # fmt: skip
    for each in cluster.all("ScaledObject"):
        for one, other in combinations([(row["type"], row["metadata"]) for row in each["spec"]["triggers"]], 2):
            if (one[0], _work(one[1])) == (other[0], _work(other[1])):
                yield f"{name(each)} has two triggers for {_work(one[1])}"


def _hpa(scaled: Object) -> str:
    stated_name = scaled["spec"].get("advanced", {}).get("horizontalPodAutoscalerConfig", {}).get("name")
    return stated_name or f"keda-hpa-{scaled['metadata']['name']}"


def _work(metadata: dict[str, Any]) -> tuple[Any, Any]:
    return metadata.get("stream"), metadata.get("consumer")


def triggers_read_their_targets_work(cluster: Cluster) -> Iterator[str]:
    """DEP-02: stream and consumer are those that contracts make, and the target's user may fetch from them."""
    for each, trigger in _triggers(cluster):
        stream, consumer = _work(trigger["metadata"])
        if cluster.consumers.get(consumer) != stream:
            yield f"{name(each)} reads {stream}/{consumer}, which nobody creates"
            continue
        target = cluster.get("Deployment", each["spec"]["scaleTargetRef"]["name"])
        if target is None:
            continue
        user = variables(pod(target)["containers"][0]).get("FANFUSE_NATS_USER", "")
        known = cluster.users.get(user)
        if known is not None and f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}" not in known.publish:
            yield f"{name(each)} reads {stream}/{consumer}, which {name(target)} ({user}) does not fetch from"


def _triggers(cluster: Cluster) -> Iterator[tuple[Object, dict[str, Any]]]:
    return ((each, trigger) for each in cluster.all("ScaledObject") for trigger in each["spec"]["triggers"])


def triggers_ask_the_servers(cluster: Cluster) -> Iterator[str]:
    """The headless service of this namespace: any other answers for one server, which may not lead the consumer."""
    monitored = stated(cluster, "nats.conf", "http").rpartition(":")[2]
    for each, trigger in _triggers(cluster):
        endpoint = str(trigger["metadata"].get("natsServerMonitoringEndpoint", ""))
        host, _, port = endpoint.partition(":")
        service = cluster.get("Service", host.partition(".")[0])
        wanted = f"{host.partition('.')[0]}.{each['metadata'].get('namespace')}.svc.cluster.local"
        selector = (
            {"matchLabels": service["spec"].get("selector") or {"": ""}} if service else {"matchLabels": {"": ""}}
        )
        led = service is not None and service["spec"].get("clusterIP") == "None" and cluster.selected(selector)
        if not led or host != wanted or port != monitored:
            yield f"{name(each)} asks {endpoint}, which is not the headless service's port {monitored} in its namespace"
        if trigger["metadata"].get("useHttps", "false") != "false":
            yield f"{name(each)} asks over HTTPS, which the servers' monitoring does not speak"


def triggers_are_complete(cluster: Cluster) -> Iterator[str]:
    """KEDA takes only strings; with another account it finds no consumer; what it names beside itself is there."""
    for each, trigger in _triggers(cluster):
        metadata = trigger["metadata"]
        if trigger["type"] != "nats-jetstream":
            yield f"{name(each)} has a trigger {trigger['type']}: work waits in nats-jetstream"
            continue
        if trigger.get("metricType", "AverageValue") != "AverageValue":
            yield f"{name(each)} scales on {trigger['metricType']}: its threshold is per replica"
        if missing := [key for key in _REQUIRED if key not in metadata]:
            yield f"{name(each)} does not state {missing}"
        if any(not isinstance(value, str) for value in metadata.values()):
            yield f"{name(each)} has metadata that are no strings"
        if metadata.get("account") != ACCOUNT:
            yield f"{name(each)} reads the account {metadata.get('account')}: services are in {ACCOUNT}"
        thresholds = [metadata.get("lagThreshold", "1"), metadata.get("activationLagThreshold", "0")]
        if any(not str(value).isdigit() for value in thresholds) or int(thresholds[0]) < 1:
            yield f"{name(each)} scales at {thresholds}, which are no counts"
        reference = trigger.get("authenticationRef")
        if reference and not cluster.has(reference.get("kind", "TriggerAuthentication"), reference["name"]):
            yield f"{name(each)} names {reference['name']} for its authentication, which does not exist"


SCALING: Final = (
    scaled_objects_fit_their_targets,
    bounds_are_stated_and_hold,
    scaling_keeps_up,
    replicas_come_before_they_are_full,
    each_target_has_one_scaler,
    triggers_read_their_targets_work,
    triggers_ask_the_servers,
    triggers_are_complete,
)
