"""Mistakes of users, keys, passwords, variables, stages and pools."""

from typing import Final

from tests.deploy.planting import POD, SERVICE, Mistake, add, both, change, drop, more, remove, text, twin, variable

_FUSER: Final = "Deployment/fuser"
_WORKER: Final = "Deployment/worker-vector-main"
_KEY: Final = (*POD, "volumes", "nats-user", "secret")
_OTHERS: Final = {"name": "others", "secret": {"secretName": "nats-health"}}
_POOLS: Final = "FANFUSE_WORKER_POOLS"
_USER: Final = "FANFUSE_NATS_USER"
_OTHER_MOUNT: Final = {"name": "others", "mountPath": "/etc/others"}
_PROVED: Final = "everybody_can_prove_who_they_are"
_VALID: Final = "variables_are_known_and_valid"
_READS: Final = "processes_read_the_operators_file"
_ONCE: Final = "every_stage_and_pool_runs_once"
_SERVE: Final = "workers_serve_their_users_pools"
_KEYS: Final = "keys_are_of_the_process"
_SEES: Final = "nobody_sees_anothers_keys"
_PASSWORDS: Final = "passwords_are_of_who_needs_them"

IDENTITIES: Final[tuple[Mistake, ...]] = (
    change(_KEYS, _FUSER, *_KEY, "secretName", to="nats-setup", also=(_SEES,)),
    both(
        change(_KEYS, _FUSER, *_KEY, "secretName", to="nats-setup", also=(_SEES,)),
        both(
            change("", _FUSER, *SERVICE, "volumeMounts", "nats-user", "name", to="key"),
            change("", _FUSER, *POD, "volumes", "nats-user", "name", to="key"),
        ),
    ),
    change(
        _KEYS,
        _FUSER,
        *POD,
        "volumes",
        "nats-user",
        to={"name": "nats-user", "projected": {"sources": [{"secret": {"name": "nats-health"}}]}},
        also=(_SEES,),
    ),
    both(
        more(_SEES, _FUSER, *POD, "volumes", item=_OTHERS),
        more("", _FUSER, *SERVICE, "volumeMounts", item=_OTHER_MOUNT),
    ),
    drop(_SEES, _FUSER, *POD, "volumes", "nats-ca", "secret", "items"),
    both(
        variable(_SEES, _FUSER, "FANFUSE_NATS_NKEY", None, also=(_PROVED,)),
        change("", _FUSER, *_KEY, "secretName", to="nats-health"),
    ),
    variable(_PROVED, _FUSER, "FANFUSE_NATS_NKEY", None),
    variable(_PROVED, _FUSER, "FANFUSE_NATS_CA_FILE", None),
    variable(_PROVED, _FUSER, _USER, "FUSOR", also=(_KEYS, _SEES, "images_are_of_the_process")),
    variable(_PROVED, "Job/setup", _USER, None),
    change(_PROVED, _FUSER, *_KEY, "optional", to=True),
    change(_PASSWORDS, _WORKER, *SERVICE, "envFrom", to=[]),
    more(_PASSWORDS, _FUSER, *SERVICE, "envFrom", item={"secretRef": {"name": "fanfuse-engines", "optional": True}}),
    more(
        _PASSWORDS,
        _FUSER,
        *SERVICE,
        "env",
        item={"name": "OTEL_HEADERS", "valueFrom": {"secretKeyRef": {"name": "fanfuse-engines", "key": "FANFUSE__A"}}},
    ),
    variable(_PASSWORDS, _WORKER, "FANFUSE__BACKENDS__GRAPH__MAIN__PASSWORD", "secret", also=(_VALID,)),
    add(_PASSWORDS, "Secret", "fanfuse-engines", stringData={"FANFUSE__BACKENDS__GRAPH__MAIN__PASSWORD": "secret"}),
    more(_VALID, _FUSER, *SERVICE, "env", item={"name": "FANFUSE_OPS_PORT", "value": "8000"}),
    variable(_VALID, _FUSER, "FANFUSE_CONFG_FILE", "/etc/fanfuse/fanfuse.yaml"),
    variable(_VALID, _FUSER, "FANFUSE_CREATES", "nothin", also=("copies_are_as_many_as_servers",)),
    variable(_VALID, _WORKER, "FANFUSE_WORKER_IN_FLIGHT", "0"),
    variable(_VALID, _FUSER, "FANFUSE_TRACE_SAMPLE", "2"),
    remove(_ONCE, "Deployment/health", told="health", also=("selectors_meet_labels",)),
    twin(
        _ONCE,
        "Deployment/health",
        "health-again",
        also=("selectors_meet_labels", "one_budget_each", "accounts_exist_and_may_do_nothing", "copies_are_spread"),
    ),
    change(
        _ONCE,
        _FUSER,
        *SERVICE,
        "image",
        to="fanfuse/cli:0.1.0",
        told="fuser",
        also=(
            "images_start_as_they_are_made_to",
            "images_are_of_the_process",
        ),
    ),
    variable(_SERVE, _WORKER, _POOLS, "vector/hot", also=(_ONCE, "egress_is_what_a_pod_needs")),
    variable(_SERVE, _WORKER, _POOLS, "keyword/main", also=(_ONCE, "egress_is_what_a_pod_needs")),
    variable(_SERVE, _WORKER, _POOLS, "vector/main,keyword/main", also=(_ONCE, "egress_is_what_a_pod_needs")),
    variable(_SERVE, _WORKER, _POOLS, None, also=(_ONCE, "egress_is_what_a_pod_needs")),
    variable(_SERVE, _FUSER, _POOLS, "vector/main"),
    variable(_SERVE, _WORKER, _USER, "WORKER-GRAPH-MAIN", also=(_KEYS, _SEES, "triggers_read_their_targets_work")),
    change(_PROVED, "Deployment/all-in-one", *_KEY, "optional", to=False, overlay="dev"),
    variable(_READS, _WORKER, "FANFUSE_CONFIG_FILE", None),
    variable(_READS, _WORKER, "FANFUSE_CONFIG_FILE", "/etc/nats-ca/ca.crt"),
    drop(_READS, "Job/setup", *POD, "containers", 0, "args", 2),
    drop(_PASSWORDS, _FUSER, *SERVICE, "envFrom", 0),
    change(_PASSWORDS, _FUSER, *SERVICE, "envFrom", 0, "secretRef", "optional", to=False),
    text("the_operators_file_is_valid", "fanfuse.yaml", "engine: qdrant", "engine: quadrant"),
    text("the_operators_file_is_valid", "fanfuse.yaml", "vector:", "vectors:"),
    text("the_operators_file_is_valid", "fanfuse.yaml", "backends:", "backends"),
    drop(_READS, "Job/setup", *POD, "containers", 0, "args", 3),
    both(
        variable(_KEYS, _FUSER, "FANFUSE_NATS_NKEY", None, also=(_SEES,)),
        both(
            variable("", _FUSER, "FANFUSE_NATS_CREDS", "/etc/fanfuse-user/user.nk"),
            change("", _FUSER, *_KEY, "secretName", to="nats-setup"),
        ),
    ),
    variable(_VALID, _WORKER, "FANFUSE__BACKENDS__VECTOR__MAIN__URL", "http://qdrant.other.svc:6333"),
    change(
        _SEES,
        "StatefulSet/nats",
        *POD,
        "volumes",
        "tls",
        "secret",
        "secretName",
        to="nats-setup",
        also=("files_named_are_there",),
    ),
    more(
        _SEES,
        _FUSER,
        *SERVICE,
        "env",
        item={"name": "SEED", "valueFrom": {"secretKeyRef": {"name": "nats-setup", "key": "user.nk"}}},
    ),
    both(
        more(_PASSWORDS, _FUSER, *POD, "volumes", item={"name": "all", "secret": {"secretName": "fanfuse-engines"}}),
        more("", _FUSER, *SERVICE, "volumeMounts", item={"name": "all", "mountPath": "/all"}),
    ),
)
