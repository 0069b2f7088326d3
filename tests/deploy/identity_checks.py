"""Who a process is and what it is told: its user and key, its variables, its pools, and that each stage is there.

In: the objects of an overlay, users and settings of contracts. Out: one line per fault, with the object that has it.
"""

import functools
import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final
from unittest import mock

from pydantic import ValidationError
from yaml import YAMLError

from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts import permissions
from fanfuse_contracts.enums import Stage
from fanfuse_corpus_router.settings import RouterSettings
from fanfuse_fuser.settings import FuserSettings
from fanfuse_health.settings import HealthSettings
from fanfuse_runtime.settings import RuntimeSettings, SettingsError
from tests.deploy.manifests import (
    COMMANDS,
    ENDING,
    TRACES,
    WORKERS,
    Cluster,
    image,
    is_process,
    key_of,
    name,
    pod,
    pools_served,
    runs_everything,
    speaks_to_engines,
    variables,
    where,
)
from tests.deploy.mounts import keys_of, mount_at, mounts, secrets_seen
from tests.deploy.nats_conf import has_users, lines_of

_SETTINGS: Final = (
    RuntimeSettings, ClassifierSettings, RouterSettings, WorkerSettings, FuserSettings, HealthSettings,
)  # fmt: skip
_SECRET: Final = re.compile(r"PASSWORD|TOKEN|API_KEY|DSN|SECRET|SEED")
_KEY_VARIABLES: Final = ("FANFUSE_NATS_NKEY", "FANFUSE_NATS_CREDS")
_ENGINES: Final = "fanfuse-engines"
_REGISTRY: Final = "fanfuse-registry"
_FOR_ENVIRONMENTS: Final = (_ENGINES, _REGISTRY)
"""Another check says whose."""


def keys_are_of_the_process(cluster: Cluster) -> Iterator[str]:
    """The file that the environment names is from the Secret of the user that the process says it is."""
    for each, container in cluster.processes():
        stated = variables(container)
        own = key_of(stated.get("FANFUSE_NATS_USER", each["metadata"]["name"]))
        for variable in _KEY_VARIABLES:
            mount = mount_at(cluster, each, container, stated[variable]) if variable in stated else None
            if mount is not None and own not in {source.name for source in mount.sources}:
                yield f"{where(each, container)} has its key {stated[variable]} from {mount.volume}: not from {own}"


def nobody_sees_anothers_keys(cluster: Cluster) -> Iterator[str]:
    """In files or in the environment; and of the bus's own certificate clients see only the authority."""
    for each, container in cluster.containers():
        serves = each["kind"] == "StatefulSet"
        user = variables(container).get("FANFUSE_NATS_USER", each["metadata"]["name"])
        allowed = {"nats-tls", *_FOR_ENVIRONMENTS} | (set() if serves else {key_of(user)})
        seen = secrets_seen(cluster, each, container)
        seen = {(ref, key) for ref, key in seen if ref not in allowed or (key == "tls.key" and not serves)}
        wrong = sorted(f"{ref}/{key}" for ref, key in seen if keys_of(cluster, "Secret", ref) is not None)
        if wrong:
            yield f"{where(each, container)} sees keys that are not its own: {wrong}"


def everybody_can_prove_who_they_are(cluster: Cluster) -> Iterator[str]:
    """Where the bus knows users each process is one of them, has its key and, with TLS, the authority.

    Its pod waits for the key: the kubelet says what is missing, a process would only end again and again.
    """
    users, has_tls = has_users(cluster), "tls" in lines_of(cluster, "tls.conf")
    for each, container in cluster.processes():
        stated = variables(container)
        if users and stated.get("FANFUSE_NATS_USER") not in cluster.users:
            yield f"{where(each, container)} is the user {stated.get('FANFUSE_NATS_USER')}, whom the bus does not know"
        if users and not stated.keys() & set(_KEY_VARIABLES):
            yield f"{where(each, container)} has no key for the bus"
        if has_tls and "FANFUSE_NATS_CA_FILE" not in stated:
            yield f"{where(each, container)} does not know who signed the bus's certificate"
        keys = [mount_at(cluster, each, container, stated[key]) for key in _KEY_VARIABLES if key in stated]
        if any(source.optional for mount in keys if mount is not None for source in mount.sources):
            yield f"{where(each, container)} starts without its key"
        seen = [source for mount in mounts(cluster, each, container) for source in mount.sources]
        if not users and any(source.kind == "Secret" and not source.optional for source in seen):
            yield f"{where(each, container)} waits for a key that nobody makes where the bus has no users"


def the_operators_file_is_valid(cluster: Cluster) -> Iterator[str]:
    try:
        _ = cluster.config
    except (ValidationError, YAMLError) as error:
        yield f"fanfuse.yaml can't be read: {error}"


def processes_read_the_operators_file(cluster: Cluster) -> Iterator[str]:
    """Without it every kind has an engine embedded in its process, with an index of its own."""
    for each, container in cluster.processes():
        words = container.get("args", [])
        options = {word: value for word, value in pairwise(words) if word in ("--file", "-f")}
        path = next(iter(options.values()), variables(container).get("FANFUSE_CONFIG_FILE", ""))
        mount = mount_at(cluster, each, container, path) if path else None
        if path.startswith("/") and (mount is None or not mount.sources or not mount.holds(path)):
            continue  # there is no such file, which another check says
        sources = [source.name for source in mount.sources if source.kind == "ConfigMap"] if mount else []
        if not any("fanfuse.yaml" in (keys_of(cluster, "ConfigMap", source) or ()) for source in sources):
            yield f"{where(each, container)} reads {path or 'no file'}, not fanfuse.yaml"


def passwords_are_of_who_needs_them(cluster: Cluster) -> Iterator[str]:
    """Those of engines are in the environment of a process that speaks to engines, and of no other; none in plain."""
    for each, container in cluster.containers():
        given = {secret for secret, _ in secrets_seen(cluster, each, container)}
        speaks = speaks_to_engines(each) and container is pod(each)["containers"][0]
        if (_ENGINES in given) is not speaks:
            yield f"{where(each, container)} {'lacks' if speaks else 'has'} the passwords of the engines"
        is_main = is_process(each) and container is pod(each)["containers"][0]
        if is_main and _REGISTRY not in given:
            yield f"{where(each, container)} lacks {_REGISTRY}: a registry that is a database it would not find"
        refs = (row.get("secretRef", {}) for row in container.get("envFrom", ()))
        for needed in sorted(ref["name"] for ref in refs if ref and not ref.get("optional")):
            yield f"{where(each, container)} waits for {needed}, which only some installations have: optional"
        for variable in sorted(key for key in variables(container) if _SECRET.search(key)):
            yield f"{where(each, container)} states {variable} for everybody to read: take a Secret"
    for each in cluster.all("Secret"):
        yield f"{name(each)} stands in the overlay, where everybody reads it: create it apart"


def variables_are_known_and_valid(cluster: Cluster) -> Iterator[str]:
    """A misspelt one is ignored, of two the last counts, and what a process refuses it says only when it starts."""
    known = {name for model in _SETTINGS for field in model.model_fields for name in model.variables(field)}
    for each, container in cluster.containers():
        counted = Counter(row["name"] for row in container.get("env", ()))
        yield from (f"{where(each, container)} states {key} twice" for key, count in counted.items() if count > 1)
        stated = variables(container)
        ours = [key for key in counted if key.startswith("FANFUSE_") and not key.startswith("FANFUSE__")]
        for over in sorted(key for key in stated if key.startswith("FANFUSE__")):
            yield f"{where(each, container)} states {over}: pools and policies are made from fanfuse.yaml"
        addressed = {key for key, value in stated.items() if "://" in value}
        for key in sorted(addressed - {"NATS_URL", *TRACES, *ours}):
            yield f"{where(each, container)} states {key}, an address that no policy opens (deploy/README.md)"
        for unknown in sorted(set(ours) - known):
            yield f"{where(each, container)} states {unknown}, which nothing reads"
        here = frozenset((key, value) for key, value in stated.items() if not value.startswith("/"))
        yield from (f"{where(each, container)} refuses its settings: {error}" for error in _refused(here))


@functools.cache
def _refused(environment: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    """What settings say of an environment, without its files, which are not here."""
    told = []
    with mock.patch.dict(os.environ, dict(environment), clear=True):
        for model in _SETTINGS:
            try:
                model()
            except SettingsError as error:
                told.append(str(error))
    return tuple(told)


def every_stage_and_pool_runs_once(cluster: Cluster) -> Iterator[str]:
    """Two deployments of one stage are two users for one consumer; a pool that nobody serves is never answered."""
    kept = [(each, container) for each, container in cluster.processes() if each["kind"] not in ENDING]
    if any(runs_everything(container) for _, container in kept):
        kept = [row for row in kept if not runs_everything(row[1])]
        yield from (f"{name(each)} runs beside the process that runs everything" for each, _ in kept)
        return
    stages = {stage.value: [name(e) for e, c in kept if image(c) == stage.value] for stage in Stage}
    pools = {pool: [name(e) for e, c in kept if pool in pools_served(c)] for pool in cluster.pools}
    for what, found in (*stages.items(), *pools.items()):
        if not found or (what != WORKERS and len(found) > 1):
            yield f"{what} runs in {found or 'no workload'}: one is needed"
    yield from (f"{name(each)} runs commands for ever" for each, one in kept if image(one) == COMMANDS)


def workers_serve_their_users_pools(cluster: Cluster) -> Iterator[str]:
    """A worker fetches by its user's rights: of other pools it gets nothing, and nobody serves its own."""
    for each, container in cluster.processes():
        stated = variables(container)
        if image(container) != WORKERS:
            if "FANFUSE_WORKER_POOLS" in stated:
                yield f"{where(each, container)} states pools and is no worker"
            continue
        for text in pools_served(container) or ["no pool"]:
            pool = cluster.pools.get(text)
            if pool is None:
                yield f"{where(each, container)} serves {text}, which fanfuse.yaml does not need"
            elif (user := permissions.user_of_pool(*pool.id)) != stated.get("FANFUSE_NATS_USER"):
                yield f"{where(each, container)} serves {text} as {stated.get('FANFUSE_NATS_USER')}: {user} may"


IDENTITIES: Final = (
    keys_are_of_the_process,
    nobody_sees_anothers_keys,
    everybody_can_prove_who_they_are,
    the_operators_file_is_valid,
    processes_read_the_operators_file,
    passwords_are_of_who_needs_them,
    variables_are_known_and_valid,
    every_stage_and_pool_runs_once,
    workers_serve_their_users_pools,
)
