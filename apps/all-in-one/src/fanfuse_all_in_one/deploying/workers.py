"""Kubernetes manifests of the workers: a Deployment, its budget, its network policy and its scaling per pool.

In: the operator's file. Out: YAML with the reasons as comments, to be applied with the component `process`, which
completes the pods. Stream and consumer are those of contracts, so a scaler can't name one that does not exist.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from fanfuse_all_in_one.deploying.egress import Egress, egress_of
from fanfuse_all_in_one.deploying.nats_users import ACCOUNT
from fanfuse_all_in_one.deploying.pools import WorkerPool, pools_of
from fanfuse_all_in_one.deploying.templates import SCALER, WORKER
from fanfuse_all_in_one.failures import OperatorError
from fanfuse_contracts import limits, permissions, streams
from fanfuse_contracts.config import FanfuseConfig

NAMESPACE: Final = "fanfuse"
MONITORING: Final = f"nats-headless.{NAMESPACE}.svc.cluster.local:8222"
"""The servers one by one: the plain service would answer for any, and has no such port."""
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Scaling:
    """How far each pool scales, and when. `at_lag`: commands per replica, waiting or in hand."""

    least: int = 2
    most: int = 20
    at_lag: int = limits.WORKER_IN_FLIGHT // 2

    def __post_init__(self) -> None:
        """Raises `OperatorError` for what contradicts itself."""
        if not 0 <= self.least <= self.most or self.most < 1 or self.at_lag < 1:
            raise OperatorError(
                f"pools can't scale from {self.least} to {self.most} replicas at a lag of {self.at_lag}"
            )


def render_workers(config: FanfuseConfig, scaling: Scaling | None, image: str) -> str:
    """One YAML stream. `scaling` None: without KEDA, two replicas each. Raises `OperatorError`."""
    return "---\n".join(_documents(pools_of(config), config, scaling, image))


def _documents(
    pools: Iterable[WorkerPool], config: FanfuseConfig, scaling: Scaling | None, image: str
) -> Iterator[str]:
    for pool in pools:
        _refuse_embedded(pool)
        spec = streams.pool_consumer(*pool.id)
        name = _name(spec.durable)
        yield WORKER.substitute(
            name=name,
            pool=f"{pool.kind.value}/{pool.name}",
            backends=", ".join(f"{each} ({backend.engine.value})" for each, backend in pool.backends),
            user=permissions.user_of_pool(*pool.id),
            image=image,
            replicas="" if scaling is not None else "  replicas: 2\n",
            egress=_egress(egress_of(pool, config)),
        )
        if scaling is not None:
            yield SCALER.substitute(
                name=name,
                stream=spec.stream,
                consumer=spec.durable,
                account=ACCOUNT,
                endpoint=MONITORING,
                least=scaling.least,
                most=scaling.most,
                fallback=max(1, scaling.least),
                lag=scaling.at_lag,
            )


def _refuse_embedded(pool: WorkerPool) -> None:
    for name, backend in pool.backends:
        if not backend.is_server:
            raise OperatorError(
                f"backend {pool.kind.value}/{name} is embedded: its index is a folder of one machine. State a server "
                "for it in the file, or run everything in one process (overlay dev)"
            )


def _name(durable: str) -> str:
    if not _LABEL.fullmatch(durable):
        raise OperatorError(
            f"{durable} can't be a name in Kubernetes: name the pool with letters, digits and inner '-', at most "
            f"{63 - len('worker-keyword-')} of them"
        )
    return durable


def _egress(rules: Iterable[Egress]) -> str:
    rows = [rule.as_rule() for rule in rules]
    text = yaml.safe_dump(rows, sort_keys=False, default_flow_style=None, width=120)
    return "".join(f"    {line}\n" for line in text.splitlines())
