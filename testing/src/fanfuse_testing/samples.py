"""Samples of metrics, added up as a query of Prometheus would add them."""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric


def counted(registry: CollectorRegistry, name: str, **labels: str) -> float:
    """The sum over every series of a sample that has these labels; raises `LookupError` where there is none."""
    return total(registry.collect(), name, labels)


def total(families: Iterable[Metric], name: str, labels: Mapping[str, str]) -> float:
    """The same over exported families."""
    values = [
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    if not values:
        raise LookupError(f"{name}{dict(labels)} is not exported")
    return float(sum(values))
