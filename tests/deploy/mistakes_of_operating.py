"""Mistakes of stops, updates, jobs, and of servers and what they store."""

from typing import Final

from tests.deploy.planting import POD, SERVER, SERVICE, Mistake, change, drop, find, more, remove, text, variable
from tests.deploy.rendered import Objects

_FUSER: Final = "Deployment/fuser"
_NATS: Final = "StatefulSet/nats"
_SETUP: Final = "Job/setup"
_GRACE: Final = (*POD, "terminationGracePeriodSeconds")
_STOPS: Final = "grace_is_longer_than_the_stop"
_AWAY: Final = "servers_send_clients_away_before_they_stop"
_READ: Final = "servers_read_their_configuration"
_PATHS: Final = "files_named_are_there"
_CLOSED: Final = "servers_form_one_closed_cluster"
_TAKES: Final = "servers_take_what_contracts_send"
_KIND: Final = "pods_run_as_their_kind_wants"
_TRIES: Final = "jobs_try_until_the_bus_is_there"
_CREATES: Final = "somebody_creates_what_all_wait_for"
_COPIES: Final = "copies_are_as_many_as_servers"
_COMES: Final = "what_changes_comes_into_the_pod"
_AGAIN: Final = "what_changes_is_read_again"
_FIT: Final = "stores_fit_their_disk_and_memory"
_FULL: Final = "alerts_come_before_the_store_is_full"
_LASTS: Final = "streams_outlive_their_servers"
_RELOADER: Final = (*POD, "containers", "reloader")
_CLAIM: Final = ("spec", "volumeClaimTemplates", 0, "spec")
_JOB_ARGS: Final = (*POD, "containers", "setup", "args")


def at_night(those: Objects) -> None:
    """The job, again and again."""
    job = find(those, _SETUP)
    job["kind"], job["spec"] = "CronJob", {"schedule": "0 3 * * *", "jobTemplate": {"spec": job["spec"]}}


OPERATING: Final[tuple[Mistake, ...]] = (
    change(_STOPS, _FUSER, *_GRACE, to=12),
    change(_STOPS, _FUSER, *_GRACE, to=0),
    variable(_STOPS, _FUSER, "FANFUSE_DRAIN_TIMEOUT_S", "40"),
    change(_STOPS, _FUSER, *SERVICE, "lifecycle", to={"preStop": {"sleep": {"seconds": 20}}}),
    change(_STOPS, _FUSER, *SERVICE, "lifecycle", to={"preStop": {"exec": {"command": ["sh", "-c", "sleep 20"]}}}),
    change(_STOPS, _NATS, *_GRACE, to=30),
    drop(_STOPS, _NATS, *_GRACE),
    text(_STOPS, "nats.conf", "lame_duck_duration: 30s", "lame_duck_duration: 2m", told=_NATS),
    text(_STOPS, "nats.conf", "lame_duck_duration", "# lame_duck_duration", told=_NATS),
    drop(_AWAY, _NATS, *SERVER, "lifecycle", told="it has no preStop"),
    change(
        _AWAY,
        _NATS,
        *SERVER,
        "lifecycle",
        "preStop",
        "exec",
        "command",
        1,
        to="-sl=ldm=/var/run/nats/other.pid",
        also=(_PATHS,),
    ),
    change(_AWAY, _FUSER, *SERVICE, "lifecycle", to={"stopSignal": "SIGKILL"}),
    change(_KIND, _SETUP, *POD, "restartPolicy", to="Always"),
    drop(_KIND, _SETUP, *POD, "restartPolicy"),
    change(_KIND, _FUSER, *POD, "restartPolicy", to="Never"),
    change(_KIND, _FUSER, "spec", "paused", to=True),
    change(_KIND, _NATS, "spec", "updateStrategy", to={"type": "OnDelete"}),
    change(_KIND, _NATS, "spec", "updateStrategy", to={"rollingUpdate": {"partition": 3}}),
    change(_KIND, _FUSER, "spec", "minReadySeconds", to=900),
    change(_TRIES, _SETUP, "spec", "backoffLimit", to=0),
    change(_TRIES, _SETUP, "spec", "ttlSecondsAfterFinished", to=0),
    change(_TRIES, _SETUP, "spec", "suspend", to=True),
    change(_TRIES, _SETUP, "spec", "parallelism", to=0),
    change(_TRIES, _SETUP, "spec", "activeDeadlineSeconds", to=60),
    drop(_TRIES, _SETUP, *_JOB_ARGS, 4),
    drop(_TRIES, _SETUP, *_JOB_ARGS, 5),
    remove(_CREATES, _SETUP),
    variable(_CREATES, _FUSER, "FANFUSE_CREATES", None, also=(_COPIES,)),
    drop(_READ, _NATS, *SERVER, "args"),
    change(_READ, _NATS, *SERVER, "args", 0, to="--confg"),
    change(_READ, _NATS, *SERVER, "args", 1, to="/etc/nats/cluster.conf"),
    change(_READ, _NATS, *SERVER, "command", to=["nats-server"]),
    change(_AGAIN, _NATS, *_RELOADER, "command", to=["/bin/true"]),
    drop(_AGAIN, _NATS, *_RELOADER, "args", 0),
    change(_COPIES, _NATS, "spec", "replicas", to=5, told="5 servers", also=("routes_lead_to_every_server",)),
    variable(_COPIES, _SETUP, "FANFUSE_STREAM_REPLICAS", "1"),
    variable(_COPIES, _SETUP, "FANFUSE_STREAM_REPLICAS", None),
    variable(_COPIES, "Deployment/health", "FANFUSE_STREAM_REPLICAS", "2"),
    variable(_COPIES, "Deployment/all-in-one", "FANFUSE_STREAM_REPLICAS", "3", overlay="dev"),
    drop(
        _AGAIN,
        _NATS,
        *POD,
        "shareProcessNamespace",
        told="StatefulSet/nats does not read its configuration again: share",
    ),
    drop(_AGAIN, _NATS, *_RELOADER),
    change(
        _AGAIN, _NATS, *_RELOADER, "volumeMounts", "tls", "mountPath", to="/etc/other", also=("files_named_are_there",)
    ),
    drop(_AGAIN, _NATS, *_RELOADER, "args", 3),
    change(_AGAIN, _NATS, *_RELOADER, "args", 1, to="/var/run/nats/other.pid", also=(_PATHS,)),
    change(_COMES, "ConfigMap/nats-config", "immutable", to=True),
    more(
        _COMES,
        _NATS,
        *SERVER,
        "volumeMounts",
        item={"name": "config", "mountPath": "/etc/nats/users.conf", "subPath": "users.conf"},
        also=(_AGAIN,),
    ),
    change("servers_have_names", _NATS, *SERVER, "env", "POD_NAME", to={"name": "POD_NAME", "value": "nats"}),
    drop("servers_have_names", _NATS, *SERVER, "env", "POD_NAME"),
    *(
        text("servers_have_names", "nats.conf", "server_name: $POD_NAME", f"server_name: {called}", told=_NATS)
        for called in ('"nats"', "nats", '"$POD_NAME"', "$POD", "$GOMEMLIMIT")
    ),
    change(_FIT, _NATS, *_CLAIM, "resources", "requests", "storage", to="5Gi", also=(_FULL,)),
    text(_FIT, "nats.conf", "max_file_store: 10GB", "max_file_store: 30GB", told=_NATS),
    text(_FIT, "nats.conf", "max_file_store", "# max_file_store", told=_NATS),
    text(_FIT, "nats.conf", "max_memory_store: 640MB", "max_memory_store: 4GB", told=_NATS),
    change(_FIT, _NATS, *SERVER, "env", "GOMEMLIMIT", "value", to="2500MiB"),
    change(_FIT, _NATS, *SERVER, "env", "GOMEMLIMIT", "value", to="500MiB"),
    change(_FIT, _NATS, *SERVER, "resources", "limits", "memory", to="1Gi"),
    change(_LASTS, _NATS, "spec", "persistentVolumeClaimRetentionPolicy", to={"whenScaled": "Delete"}),
    change(_LASTS, _NATS, *_CLAIM, "accessModes", to=["ReadWriteMany"]),
    Mistake(_KIND, "CronJob/setup", at_night),
    text(_CLOSED, "nats.conf", "server_name: $POD_NAME", ""),
    text(_CLOSED, "cluster.conf", "  name: fanfuse", ""),
    text(_CLOSED, "cluster.conf", '  listen: "0.0.0.0:6222"', ""),
    text(_CLOSED, "routes-tls.conf", "verify: true", "verify: false"),
    text(_CLOSED, "routes-tls.conf", "verify: true", ""),
    text(_CLOSED, "routes-tls.conf", "cert_file", "# cert_file"),
    text(_CLOSED, "tls.conf", "key_file", "# key_file"),
    text("services_have_their_account", "users.conf", '"FANFUSE": {', '"FANFUZE": {'),
    text("services_have_their_account", "users.conf", '"jetstream": "enabled"', '"jetstream": "disabled"'),
    change(_STOPS, _FUSER, *_GRACE, to=3600),
    change(_KIND, _FUSER, *POD, "activeDeadlineSeconds", to=3600),
    change(_KIND, _FUSER, "spec", "progressDeadlineSeconds", to=30),
    more(_READ, _NATS, *SERVER, "args", item="--port=4333"),
    text(_TAKES, "nats.conf", "max_memory_store: 640MB", "max_memory_store: 64MB"),
    text(_TAKES, "nats.conf", "max_file_store: 10GB", "max_file_store: 1GB", also=(_FULL,)),
    text(_TAKES, "nats.conf", "max_payload: 1MB", "max_payload: 64KB"),
    change(_STOPS, _FUSER, *SERVICE, "lifecycle", to={"preStop": {"exec": {"command": ["/bin/sleep", "25"]}}}),
    change(_STOPS, _FUSER, *SERVICE, "lifecycle", to={"preStop": {"exec": {"command": ["sh", "-c", "sleep 1m"]}}}),
    change(_STOPS, _NATS, *_RELOADER, "lifecycle", to={"preStop": {"sleep": {"seconds": 55}}}),
    change(_STOPS, _FUSER, *SERVICE, "livenessProbe", "terminationGracePeriodSeconds", to=1),
)
