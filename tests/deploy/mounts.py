"""What a container finds in its files: mounts, the volumes behind them, and the ConfigMaps and Secrets in these.

In: a workload and a container. Out: paths and where they come from. It judges nothing: checks do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.deploy.manifests import Cluster, Object, pod

_OF_THE_BUS: Final = frozenset({"tls.crt", "tls.key", "ca.crt"})
_OF_A_USER: Final = frozenset({"user.nk"})
_VARIABLES: Final = ("fanfuse-engines", "fanfuse-registry")
"""Secrets whose keys are variables of the operator's choice."""


@dataclass(frozen=True, slots=True)
class Source:
    """A ConfigMap or a Secret in a volume."""

    kind: str
    name: str
    items: tuple[tuple[str, str], ...] | None
    """Key and file; None: every key is a file of its name."""
    modes: tuple[int, ...]
    optional: bool
    """True: the pod starts without it."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One volume at one place."""

    path: str
    volume: str
    writable: bool
    lasting: bool
    """True: what is written is there after the pod."""
    files: frozenset[str] | None
    """What is in it; None: whatever was written."""
    sources: tuple[Source, ...]

    def holds(self, path: str) -> bool:
        """True if a file or folder of this path is in it, or may be."""
        below = path[len(self.path) :].strip("/")
        return self.files is None or not below or any(f"{file}/".startswith(f"{below}/") for file in self.files)


def keys_of(cluster: Cluster, kind: str, name: str) -> frozenset[str] | None:
    """What a ConfigMap holds, or a Secret that the operator creates (deploy/README.md); None: there is none."""
    if kind == "ConfigMap":
        found = cluster.get(kind, name)
        return None if found is None else frozenset({*found.get("data", {}), *found.get("binaryData", {})})
    if name == "nats-tls":
        return _OF_THE_BUS
    if name in _VARIABLES:
        return frozenset()
    return _OF_A_USER if name in cluster.keys else None


def is_of_variables(secret: str) -> bool:
    """True for a Secret that is meant for an environment."""
    return secret in _VARIABLES


def sources_of(volume: Object) -> tuple[Source, ...]:
    rows = (volume, *(volume.get("projected") or {}).get("sources", ()))
    mode = (volume.get("projected") or {}).get("defaultMode", 0o644)
    return tuple(_source(kind, row[field], mode) for row in rows for field, kind in _KINDS if field in row)


_KINDS: Final = (("configMap", "ConfigMap"), ("secret", "Secret"))


def _source(kind: str, row: dict[str, Any], mode: int) -> Source:
    items = row.get("items")
    modes = (row.get("defaultMode", mode), *(item["mode"] for item in items or () if "mode" in item))
    chosen = None if items is None else tuple((item["key"], item["path"]) for item in items)
    return Source(kind, row.get("secretName") or row.get("name", ""), chosen, modes, bool(row.get("optional")))


def volumes(workload: Object) -> dict[str, Object]:
    """By name, those made from templates of claims included."""
    claims = workload.get("spec", {}).get("volumeClaimTemplates", ())
    return {
        **{volume["name"]: volume for volume in pod(workload).get("volumes", ())},
        **{claim["metadata"]["name"]: {"persistentVolumeClaim": claim} for claim in claims},
    }


def mounts(cluster: Cluster, workload: Object, container: Object) -> Iterator[Mount]:
    """Of volumes that are there."""
    there = volumes(workload)
    for row in container.get("volumeMounts", ()):
        if row["name"] in there:
            yield _mount(cluster, there[row["name"]], row)


def _mount(cluster: Cluster, volume: Object, row: Object) -> Mount:
    sources = sources_of(volume)
    files = frozenset(file for source in sources for file in _files(cluster, source)) if sources else None
    sub = row.get("subPath")
    if sub and files is not None:
        files = frozenset({""}) if sub in files else frozenset()
    return Mount(
        path=row["mountPath"].rstrip("/"),
        volume=row["name"],
        writable=not row.get("readOnly") and not sources,
        lasting="persistentVolumeClaim" in volume,
        files=files,
        sources=sources,
    )


def _files(cluster: Cluster, source: Source) -> Iterator[str]:
    keys = keys_of(cluster, source.kind, source.name) or frozenset()
    chosen = source.items if source.items is not None else tuple((key, key) for key in keys)
    return (file for key, file in chosen if key in keys)


def mount_at(cluster: Cluster, workload: Object, container: Object, path: str) -> Mount | None:
    """The mount that a path leads into."""
    there = volumes(workload)
    rows = [
        row for row in container.get("volumeMounts", ()) if f"{path}/".startswith(f"{row['mountPath'].rstrip('/')}/")
    ]
    row = max(rows, key=lambda row: len(row["mountPath"]), default=None)
    return _mount(cluster, there[row["name"]], row) if row is not None and row["name"] in there else None


def secrets_seen(cluster: Cluster, workload: Object, container: Object) -> set[tuple[str, str]]:
    """Secret and key of whatever a container could read, in files or in its environment; no key: all of them."""
    sources = (source for mount in mounts(cluster, workload, container) for source in mount.sources)
    found = {(ref, key or "") for kind, ref, key in references(container) if kind == "Secret"}
    for source in (source for source in sources if source.kind == "Secret"):
        keys = keys_of(cluster, "Secret", source.name) or ("",)
        found |= {(source.name, key) for key in (keys if source.items is None else dict(source.items))}
    return found


def references(container: Object) -> Iterator[tuple[str, str, str | None]]:
    """Kind, name and key of what its environment is from; no key: all of them."""
    for row in container.get("env", ()):
        for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            if found := (row.get("valueFrom") or {}).get(field):
                yield kind, found["name"], found["key"]
    for row in container.get("envFrom", ()):
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if field in row:
                yield kind, row[field]["name"], None
