"""What nats-server is told: single settings of the files that its ConfigMap holds.

In: the objects of an overlay. Out: text, bytes, seconds. `nats-server -t` says whether the whole is sound, not this.
"""

import re

from tests.deploy.manifests import Cluster, quantity, seconds


def lines_of(cluster: Cluster, file: str) -> str:
    """A file without its comments; empty where there is none."""
    return "\n".join(line for line in cluster.data(file).splitlines() if not line.lstrip().startswith("#"))


def stated(cluster: Cluster, file: str, key: str) -> str:
    """The value of a key as it is written, without quotes; empty where it is not stated."""
    found = re.search(rf'^\s*{key}\s*[:= ]\s*"?([^"\n]+?)"?\s*$', lines_of(cluster, file), re.MULTILINE)
    return found[1] if found else ""


def has_users(cluster: Cluster) -> bool:
    """True where users are known by their keys; in users.conf of a first look anybody is let in."""
    return '"nkey"' in lines_of(cluster, "users.conf")


def bytes_of(cluster: Cluster, key: str) -> float:
    """A size of nats.conf; 0 where it is not stated, which means all there is."""
    return quantity(stated(cluster, "nats.conf", key) or 0)


def seconds_of(cluster: Cluster, key: str, default_s: float) -> float:
    """A duration of nats.conf."""
    value = stated(cluster, "nats.conf", key)
    return seconds(value) if value else default_s
