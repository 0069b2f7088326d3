"""Mistakes of ScaledObjects and of who else would scale the same."""

from typing import Final

from tests.deploy.planting import Mistake, add, both, change, drop, more, twin, variable

_AT: Final = "ScaledObject/worker-vector-main"
_SPEC: Final = (_AT, "spec")
_TRIGGER: Final = (*_SPEC, "triggers", 0)
_DATA: Final = (*_TRIGGER, "metadata")
_AGAIN: Final = {
    "type": "nats-jetstream",
    "metadata": {
        "natsServerMonitoringEndpoint": "nats-headless.fanfuse.svc.cluster.local:8222",
        "account": "FANFUSE",
        "stream": "RETRIEVE",
        "consumer": "worker-vector-main",
        "lagThreshold": "9",
    },
}
_BEHAVIOUR: Final = (*_SPEC, "advanced", "horizontalPodAutoscalerConfig")
_KEEPS: Final = "scaling_keeps_up"
_ALONE: Final = "nothing_runs_alone"

SCALING: Final[tuple[Mistake, ...]] = (
    change(
        "scaled_objects_fit_their_targets", *_SPEC, "scaleTargetRef", "name", to="worker-vector-mian", also=(_ALONE,)
    ),
    change("scaled_objects_fit_their_targets", *_SPEC, "scaleTargetRef", "kind", to="StatefulSet"),
    change("scaled_objects_fit_their_targets", "Deployment/fuser", "spec", "replicas", to=3, told="ScaledObject/fuser"),
    change(
        "scaled_objects_fit_their_targets", _AT, "metadata", "annotations", to={"autoscaling.keda.sh/paused": "true"}
    ),
    change("bounds_are_stated_and_hold", *_SPEC, "maxReplicaCount", to=1),
    drop("bounds_are_stated_and_hold", *_SPEC, "maxReplicaCount"),
    change("bounds_are_stated_and_hold", *_SPEC, "idleReplicaCount", to=3),
    drop("bounds_are_stated_and_hold", *_SPEC, "fallback"),
    change("bounds_are_stated_and_hold", *_SPEC, "fallback", to={"failureThreshold": 3, "replicas": 1}),
    change("bounds_are_stated_and_hold", *_SPEC, "fallback", "replicas", to=0),
    change("bounds_are_stated_and_hold", *_SPEC, "fallback", "replicas", to=50),
    change(_KEEPS, *_BEHAVIOUR, "behavior", "scaleUp", "selectPolicy", to="Disabled"),
    change(_KEEPS, *_BEHAVIOUR, "behavior", "scaleDown", "selectPolicy", to="Disabled"),
    change(_KEEPS, *_BEHAVIOUR, "behavior", "scaleUp", "policies", 0, "value", to=0),
    change(_KEEPS, *_BEHAVIOUR, "behavior", "scaleUp", "policies", to=[]),
    change(_KEEPS, *_BEHAVIOUR, "behavior", "scaleUp", "stabilizationWindowSeconds", to=300),
    change(_KEEPS, *_BEHAVIOUR, "behavior", "scaleDown", "stabilizationWindowSeconds", to=0),
    change(_KEEPS, *_SPEC, "pollingInterval", to=500),
    change(_KEEPS, *_SPEC, "triggers", to=[]),
    change("replicas_come_before_they_are_full", *_DATA, "lagThreshold", to="80"),
    both(
        change("replicas_come_before_they_are_full", *_DATA, "lagThreshold", to="8"),
        variable("", "Deployment/worker-vector-main", "FANFUSE_WORKER_IN_FLIGHT", "4"),
    ),
    change("words_are_of_their_sets", *_SPEC, "fallback", "behavior", to="currentReplicaIfHigher"),
    twin("each_target_has_one_scaler", _AT, "worker-vector-again"),
    add(
        "each_target_has_one_scaler",
        "HorizontalPodAutoscaler",
        spec={"scaleTargetRef": {"kind": "Deployment", "name": "fuser"}, "maxReplicas": 3},
    ),
    add("each_target_has_one_scaler", "VerticalPodAutoscaler", spec={"targetRef": {"name": "fuser"}}),
    more("each_target_has_one_scaler", *_SPEC, "triggers", item=_AGAIN),
    change("each_target_has_one_scaler", *_BEHAVIOUR, "name", to="keda-hpa-fuser"),
    change("triggers_read_their_targets_work", *_DATA, "consumer", to="worker-vector"),
    change("triggers_read_their_targets_work", *_DATA, "consumer", to="worker-keyword-main"),
    change("triggers_read_their_targets_work", *_DATA, "stream", to="QUERIES"),
    both(
        change("triggers_read_their_targets_work", *_DATA, "consumer", to="fuser"),
        change("", *_DATA, "stream", to="QUERIES"),
    ),
    change(
        "triggers_read_their_targets_work",
        "ScaledObject/fuser",
        "spec",
        "triggers",
        0,
        "metadata",
        "consumer",
        to="classifier",
    ),
    *(
        change("triggers_ask_the_servers", *_DATA, "natsServerMonitoringEndpoint", to=to)
        for to in (
            "nats.fanfuse.svc.cluster.local:8222",
            "nats-headless.fanfuse.svc.cluster.local:4222",
            "nats-headless.default.svc.cluster.local:8222",
            "nats-headles.fanfuse.svc.cluster.local:8222",
            "nats-headless:8222",
        )
    ),
    change("triggers_ask_the_servers", *_DATA, "useHttps", to="true"),
    change("triggers_are_complete", *_DATA, "account", to="FANFUZE"),
    drop("triggers_are_complete", *_DATA, "account"),
    drop("triggers_are_complete", *_DATA, "lagThreshold"),
    change("triggers_are_complete", *_DATA, "lagThreshold", to=8),
    change("triggers_are_complete", *_DATA, "lagThreshold", to="0"),
    change("triggers_are_complete", *_DATA, "lagThreshold", to="eight"),
    change("triggers_are_complete", *_TRIGGER, "authenticationRef", to={"name": "nats"}),
    change("triggers_are_complete", *_TRIGGER, "type", to="cpu"),
    change("bounds_are_stated_and_hold", *_SPEC, "fallback", "failureThreshold", to=300),
    change(_KEEPS, *_BEHAVIOUR, "behavior", "scaleUp", "policies", 0, "periodSeconds", to=1500),
    change("triggers_are_complete", *_TRIGGER, "metricType", to="Value"),
)
