"""Mistakes of volumes, claims, ConfigMaps, Secrets and paths."""

from typing import Any, Final

from tests.deploy.planting import POD, SERVER, SERVICE, Mistake, change, drop, more, remove, text, variable

_FUSER: Final = "Deployment/fuser"
_NATS: Final = "StatefulSet/nats"
_MOUNTS: Final = (*SERVICE, "volumeMounts")
_KEY: Final = (*POD, "volumes", "nats-user", "secret")
_AUTHORITY: Final = (*POD, "volumes", "nats-ca", "secret")
_CONFIG: Final = (*POD, "volumes", "config")
_MISSING: Final = (
    {"configMap": {"name": "fanfuse-confg"}},
    {"configMap": {"name": "nats-config", "items": [{"key": "fanfuse.yml", "path": "fanfuse.yaml"}]}},
    {"configMap": {"name": "fanfuse-confg", "optional": True}},
    {"projected": {"sources": [{"configMap": {"name": "fanfuse-confg"}}]}},
    {
        "projected": {
            "sources": [{"secret": {"name": "nats-tls", "items": [{"key": "tls.crd", "path": "fanfuse.yaml"}]}}]
        }
    },
)
_PATHS: Final = "files_named_are_there"


def reads(**value_from: Any) -> Mistake:
    """A variable from a key that is not there."""
    item = {"name": "OTEL_SERVICE_NAME", "valueFrom": value_from}
    return more("references_exist", _FUSER, *SERVICE, "env", item=item)


FILES: Final[tuple[Mistake, ...]] = (
    drop("volumes_are_there_and_used", _FUSER, *POD, "volumes", "tmp", also=("what_is_written_can_be_written",)),
    more("volumes_are_there_and_used", _FUSER, *POD, "volumes", item={"name": "spare", "emptyDir": {}}),
    drop(
        "volumes_are_there_and_used",
        _NATS,
        "spec",
        "volumeClaimTemplates",
        also=(
            "alerts_speak_of_what_is_there",
            _PATHS,
            "stores_fit_their_disk_and_memory",
            "what_is_written_can_be_written",
        ),
    ),
    drop(
        "volumes_are_there_and_used",
        _NATS,
        *SERVER,
        "volumeMounts",
        "data",
        also=(_PATHS, "what_is_written_can_be_written"),
    ),
    more("volumes_are_there_and_used", _FUSER, *_MOUNTS, item={"name": "data", "mountPath": "/tmp"}),
    remove("volumes_are_there_and_used", "PersistentVolumeClaim/all-in-one", told="claim all-in-one", overlay="dev"),
    change("volumes_are_there_and_used", "Deployment/all-in-one", "spec", "replicas", to=2, overlay="dev"),
    drop("volumes_are_there_and_used", "Deployment/all-in-one", "spec", "strategy", overlay="dev"),
    *(
        change("references_exist", _FUSER, *_CONFIG, to={"name": "config", **volume}, also=(_PATHS,))
        for volume in _MISSING
    ),
    change("references_exist", _FUSER, *_KEY, "secretName", to="nats-fusor", also=(_PATHS, "keys_are_of_the_process")),
    change("references_exist", _FUSER, *_KEY, "items", to=[{"key": "fuser.nk", "path": "user.nk"}], also=(_PATHS,)),
    more("references_exist", _FUSER, *_AUTHORITY, "items", item={"key": "ca.pem", "path": "ca.pem"}),
    more("references_exist", _FUSER, *SERVICE, "envFrom", item={"configMapRef": {"name": "fanfuse-variables"}}),
    more(
        "references_exist",
        _FUSER,
        *SERVICE,
        "envFrom",
        item={"secretRef": {"name": "fanfuse-registri", "optional": True}},
    ),
    reads(configMapKeyRef={"name": "fanfuse-variables", "key": "name"}),
    reads(configMapKeyRef={"name": "nats-config", "key": "name"}),
    reads(secretKeyRef={"name": "nats-tls", "key": "password"}),
    reads(secretKeyRef={"name": "fanfuse-engine", "key": "password", "optional": True}),
    more(
        "references_exist",
        _FUSER,
        *_MOUNTS,
        item={"name": "config", "mountPath": "/etc/other.yaml", "subPath": "fanfuse.yml"},
    ),
    drop(_PATHS, _FUSER, *_MOUNTS, "config", also=("volumes_are_there_and_used",)),
    change(_PATHS, _FUSER, *_MOUNTS, "config", "mountPath", to="/etc/fanfuze"),
    change(
        _PATHS,
        _FUSER,
        *_MOUNTS,
        "config",
        to={"name": "config", "mountPath": "/etc/fanfuse/f.yaml", "subPath": "fanfuse.yaml"},
    ),
    change(_PATHS, _FUSER, *_CONFIG, "configMap", "items", to=[{"key": "fanfuse.yaml", "path": "config.yaml"}]),
    change(_PATHS, _FUSER, *_AUTHORITY, "items", 0, "path", to="ca.pem"),
    variable(_PATHS, _FUSER, "FANFUSE_CONFIG_FILE", "/etc/fanfuse/fanfuse.yml"),
    variable(_PATHS, _FUSER, "FANFUSE_NATS_CA_FILE", "/etc/nats-ca/tls.crt"),
    variable(_PATHS, _FUSER, "FANFUSE_NATS_NKEY", "/etc/fanfuse-user/fuser.nk"),
    change(_PATHS, "Job/setup", *POD, "containers", 0, "args", 3, to="/etc/fanfuse.yaml"),
    change(
        _PATHS, _NATS, *SERVER, "args", 1, to="/etc/nats/nats-server.conf", also=("servers_read_their_configuration",)
    ),
    change(
        _PATHS,
        _NATS,
        *POD,
        "containers",
        "reloader",
        "args",
        0,
        to="/etc/nats/relaod.sh",
        also=("what_changes_is_read_again",),
    ),
    text(_PATHS, "tls.conf", "/tls.crt", "/server.crt", told=_NATS),
    text(_PATHS, "routes-tls.conf", "/etc/nats-tls/ca.crt", "/etc/nats-ca/ca.crt", told=_NATS),
    drop(_PATHS, "ConfigMap/nats-config", "data", "reload.sh", told=_NATS),
    drop("configuration_is_whole", "ConfigMap/nats-config", "data", "tls.conf"),
    text("configuration_is_whole", "nats.conf", "./users.conf", "./user.conf", told="ConfigMap/nats-config"),
    text("configuration_is_whole", "cluster.conf", "./routes-tls.conf", "./routes.conf", told="ConfigMap/nats-config"),
    change("files_can_be_read", _FUSER, *_KEY, "defaultMode", to=0),
    change("files_can_be_read", _FUSER, *_AUTHORITY, "items", 0, "mode", to=0o400),
    change("what_is_written_can_be_written", _FUSER, *_MOUNTS, "data", "readOnly", to=True),
    change("what_is_written_can_be_written", _FUSER, *_MOUNTS, "data", "mountPath", to="/dat"),
    variable("what_is_written_can_be_written", _FUSER, "FANFUSE_DATA_DIR", "/etc/fanfuse"),
    variable("what_is_written_can_be_written", _FUSER, "FANFUSE_DATA_DIR", None),
    drop("volumes_take_what_is_written", _NATS, *POD, "securityContext", "fsGroup"),
    text(
        "what_is_written_can_be_written",
        "nats.conf",
        '"/data"',
        '"/var/run/nats"',
        told=_NATS,
        also=("what_changes_is_read_again",),
    ),
    change(
        "what_is_written_can_be_written",
        _NATS,
        *SERVER,
        "volumeMounts",
        "data",
        to={"name": "run", "mountPath": "/data"},
        also=("volumes_are_there_and_used",),
    ),
    change(_PATHS, _FUSER, *_CONFIG, to={"name": "config"}),
    change(
        _PATHS,
        _FUSER,
        *_CONFIG,
        to={"name": "config", "emptyDir": {}},
    ),
    change("what_is_written_can_be_written", _FUSER, *_MOUNTS, "tmp", "mountPath", to="/temp"),
    change(
        "what_is_written_can_be_written",
        "Deployment/all-in-one",
        *POD,
        "volumes",
        "data",
        to={"name": "data", "emptyDir": {}},
        overlay="dev",
    ),
    text("configuration_is_whole", "nats.conf", "include ./users.conf", "", told="ConfigMap/nats-config"),
    text("configuration_is_whole", "nats.conf", "include ./cluster.conf", "", told="ConfigMap/nats-config"),
    text("configuration_is_whole", "nats.conf", "include ./tls.conf", "", told="ConfigMap/nats-config"),
    text("configuration_is_whole", "cluster.conf", "include ./routes-tls.conf", "", told="ConfigMap/nats-config"),
    change("volumes_take_what_is_written", _FUSER, *POD, "volumes", "tmp", "emptyDir", to={"medium": "Memory"}),
    change("volumes_take_what_is_written", _FUSER, *POD, "volumes", "data", "emptyDir", to={"sizeLimit": "1Mi"}),
)
