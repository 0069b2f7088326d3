"""Mistakes of images, resources, rights and probes, in containers that run first or are attached later too."""

import copy
from typing import Any, Final

from tests.deploy.planting import POD, SERVER, SERVICE, Mistake, both, change, drop, more

_FUSER: Final = "Deployment/fuser"
_WORKER: Final = "Deployment/worker-vector-main"
_RIGHTS: Final = (*SERVICE, "securityContext")
_RESOURCES: Final = (*SERVICE, "resources")
SOUND: Final[dict[str, Any]] = {
    "name": "first",
    "image": "fanfuse/cli:0.1.0",
    "args": ["config", "check", "--file", "/etc/fanfuse/fanfuse.yaml"],
    "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    },
    "volumeMounts": [{"name": "config", "mountPath": "/etc/fanfuse", "readOnly": True}],
}
"""A container without fault that ends before the process starts."""
FIRST: Final = more("none", _FUSER, *POD, "initContainers", item=SOUND)
BESIDE: Final = {"restartPolicy": "Always", "name": "beside"}


def first(check: str, which: str = _FUSER, key: str = "initContainers", **parts: Any) -> Mistake:
    """It, with other parts; None: without them."""
    made = copy.deepcopy(SOUND) | parts
    left = {part: value for part, value in made.items() if value is not None}
    return more(check, which, *POD, key, item=left, told=f"{which} container {left['name']}")


_NAMES: Final = "names_are_unique_and_fit"
_TOKEN: Final = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
_VERSION: Final = "images_are_of_one_version"
_SIZE: Final = "resources_are_of_their_size"
_SMALL: Final = {"cpu": "10m", "memory": "16Mi"}
_STARTS: Final = "images_start_as_they_are_made_to"
_ENGINES: Final = [{"secretRef": {"name": "fanfuse-engines", "optional": True}}]
CONTAINERS: Final[tuple[Mistake, ...]] = (
    change("images_are_fixed", _FUSER, *SERVICE, "image", to="fanfuse/fuser:latest"),
    change("images_are_fixed", _FUSER, *SERVICE, "image", to="fanfuse/fuser"),
    change("images_are_fixed", _FUSER, *SERVICE, "imagePullPolicy", to="Never"),
    first("images_are_fixed", image="fanfuse/cli:latest"),
    first("images_are_fixed", "Job/setup", image="fanfuse/cli"),
    first("images_are_fixed", key="ephemeralContainers", image="busybox"),
    change(
        "images_are_of_the_process",
        _FUSER,
        *SERVICE,
        "image",
        to="fanfuse/classifier:0.1.0",
        also=(
            "every_stage_and_pool_runs_once",
            "replicas_come_before_they_are_full",
        ),
    ),
    change(
        "images_are_of_the_process",
        _FUSER,
        *SERVICE,
        "image",
        to="fanfuse/fusor:0.1.0",
        also=("every_stage_and_pool_runs_once",),
    ),
    change("images_are_of_the_process", "Deployment/health", "metadata", "labels", "fanfuse.dev/process", to="setup"),
    change(
        "images_are_of_the_process",
        "Deployment/health",
        "metadata",
        "labels",
        "fanfuse.dev/engines",
        to="speaks",
        also=("passwords_are_of_who_needs_them",),
    ),
    drop(
        "images_are_of_the_process",
        _WORKER,
        "metadata",
        "labels",
        "fanfuse.dev/engines",
        also=("passwords_are_of_who_needs_them",),
    ),
    drop(
        "images_are_of_the_process",
        _WORKER,
        "spec",
        "template",
        "metadata",
        "labels",
        "fanfuse.dev/process",
        also=(
            "copies_are_spread",
            "egress_is_what_a_pod_needs",
            "every_process_is_scraped",
            "ingress_is_what_a_pod_serves",
        ),
    ),
    change("resources_are_bounded", _FUSER, *_RESOURCES, "requests", "memory", to="2Gi"),
    change("resources_are_bounded", _FUSER, *_RESOURCES, "requests", "cpu", to="2500m"),
    change(
        "resources_are_bounded",
        "StatefulSet/nats",
        *POD,
        "containers",
        "reloader",
        "resources",
        "requests",
        "cpu",
        to=1,
    ),
    change("resources_are_bounded", _FUSER, *_RESOURCES, "limits", "memory", to="512m"),
    drop("resources_are_bounded", _FUSER, *_RESOURCES, "limits"),
    drop("resources_are_bounded", _FUSER, *_RESOURCES, "requests", "cpu"),
    first("resources_are_bounded", resources=None),
    first("resources_are_bounded", resources=SOUND["resources"] | {"requests": {"cpu": "2", "memory": "1Mi"}}),
    first("resources_are_bounded", "StatefulSet/nats", resources={"limits": {"cpu": 1}}, volumeMounts=None, args=None),
    *(
        change(_SIZE, which, *path, "resources", to={"requests": low, "limits": high})
        for which, path, low, high in (
            (_FUSER, SERVICE, _SMALL, {"cpu": "1", "memory": "32Mi"}),
            ("Deployment/classifier", SERVICE, _SMALL, {"cpu": "1", "memory": "128Mi"}),
            ("Job/setup", (*POD, "containers", "setup"), _SMALL, {"cpu": "1", "memory": "48Mi"}),
            (_FUSER, SERVICE, {"cpu": "250", "memory": "256Mi"}, {"cpu": "250", "memory": "1Gi"}),
            (_FUSER, SERVICE, _SMALL, {"cpu": "250", "memory": "1Gi"}),
            (_FUSER, SERVICE, _SMALL, {"cpu": "1", "memory": "256Ti"}),
        )
    ),
    change("pods_are_restricted", _FUSER, *POD, "securityContext", "runAsUser", to=None),
    drop("pods_are_restricted", _FUSER, *POD, "securityContext", "runAsNonRoot"),
    change("pods_are_restricted", _FUSER, *_RIGHTS, "readOnlyRootFilesystem", to=False),
    change("pods_are_restricted", _FUSER, *_RIGHTS, "allowPrivilegeEscalation", to=True),
    change("pods_are_restricted", _FUSER, *_RIGHTS, "capabilities", "drop", to=["NET_RAW"]),
    drop("pods_are_restricted", _FUSER, *POD, "automountServiceAccountToken"),
    first("pods_are_restricted", securityContext=None),
    first("pods_are_restricted", key="ephemeralContainers", securityContext={"allowPrivilegeEscalation": True}),
    *(
        change("nothing_of_the_node_is_shared", _FUSER, *POD, *path, to=to)
        for path, to in (
            (("securityContext", "seccompProfile", "type"), "Unconfined"),
            (("securityContext", "appArmorProfile"), {"type": "Unconfined"}),
            (("securityContext", "sysctls"), [{"name": "net.core.somaxconn", "value": "1"}]),
            (("hostNetwork",), True),
            (("hostPID",), True),
            (("hostIPC",), True),
            (("volumes", "tmp"), {"name": "tmp", "hostPath": {"path": "/"}}),
            (("volumes", "tmp"), {"name": "tmp", "nfs": {"server": "a", "path": "/"}}),
            (("containers", 0, "securityContext", "runAsUser"), 0),
            (("containers", 0, "securityContext", "privileged"), True),
            (("containers", 0, "securityContext", "procMount"), "Unmasked"),
            (("containers", 0, "securityContext", "capabilities", "add"), ["SYS_ADMIN"]),
            (("containers", 0, "ports", 0, "hostPort"), 8000),
        )
    ),
    first("nothing_of_the_node_is_shared", securityContext=SOUND["securityContext"] | {"runAsNonRoot": False}),
    drop("probes_are_there_and_have_time", _FUSER, *SERVICE, "readinessProbe"),
    drop("probes_are_there_and_have_time", _FUSER, *SERVICE, "startupProbe"),
    drop("probes_are_there_and_have_time", _FUSER, *SERVICE, "livenessProbe", "timeoutSeconds"),
    change("probes_are_there_and_have_time", "StatefulSet/nats", *SERVER, "readinessProbe", "timeoutSeconds", to=2),
    first("probes_are_there_and_have_time", **BESIDE),
    first("files_named_are_there", args=["config", "check", "--file", "/etc/fanfuze/fanfuse.yaml"]),
    first("files_named_are_there", volumeMounts=None),
    first("volumes_are_there_and_used", volumeMounts=[*SOUND["volumeMounts"], {"name": "lost", "mountPath": "/lost"}]),
    first("passwords_are_of_who_needs_them", envFrom=_ENGINES),
    first("passwords_are_of_who_needs_them", _WORKER, envFrom=_ENGINES),
    first("references_exist", envFrom=[{"secretRef": {"name": "nats-fusor", "optional": True}}]),
    first(
        "nobody_sees_anothers_keys",
        volumeMounts=[*SOUND["volumeMounts"], {"name": "nats-user", "mountPath": "/key"}],
        env=[{"name": "FANFUSE_NATS_USER", "value": "HEALTH"}],
    ),
    change(_VERSION, _FUSER, *SERVICE, "image", to="fanfuse/fuser:0.1.1"),
    change(_VERSION, "StatefulSet/nats", *SERVER, "image", to="nats:2.14.0-alpine"),
    first(_VERSION, image="fanfuse/cli:0.0.9"),
    first(_VERSION, image=f"fanfuse/cli:0.0.9@sha256:{'0' * 64}"),
    change(_STARTS, _FUSER, *SERVICE, "command", to=["python", "-m", "fanfuse_classifier"]),
    change(_STARTS, _FUSER, *SERVICE, "args", to=["--help"]),
    change(_STARTS, "Job/setup", *POD, "containers", "setup", "args", 1, to="nats"),
    change("resources_are_bounded", _FUSER, *_RESOURCES, "limits", "memory", to="1 Gi"),
    *(
        change("words_are_of_their_sets", _FUSER, *path, to=to)
        for path, to in (
            ((*SERVICE, "imagePullPolicy"), "always"),
            ((*POD, "topologySpreadConstraints", 0, "whenUnsatisfiable"), "ScheduleAnyways"),
            (("spec", "strategy"), {"type": "Rolling"}),
        )
    ),
    change(
        _NAMES,
        "StatefulSet/nats",
        *POD,
        "containers",
        "reloader",
        "name",
        to="nats",
        also=("what_changes_is_read_again", "probes_are_there_and_have_time"),
    ),
    more(_NAMES, _FUSER, *POD, "volumes", item={"name": "tmp", "emptyDir": {}}),
    more(_NAMES, _FUSER, *SERVICE, "ports", item={"name": "ops-and-many-metrics", "containerPort": 8001}),
    change(_NAMES, "PodDisruptionBudget/fuser", "metadata", "name", to="Fuser", told="PodDisruptionBudget/Fuser"),
    change(_NAMES, _FUSER, "metadata", "labels", "app.kubernetes.io/part-of", to="all of fanfuse"),
    both(
        more("pods_are_restricted", _FUSER, *POD, "volumes", item=_TOKEN),
        more("", _FUSER, *SERVICE, "volumeMounts", item={"name": "token", "mountPath": "/token"}),
    ),
)
