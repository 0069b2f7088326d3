"""A command that was not told which backends are servers does not write, or delete, beside them."""

from types import SimpleNamespace
from typing import Any

import pytest

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.publishing import refuse_unstated_servers
from fanfuse_backend_workers.adapters.engines import connect_server
from fanfuse_backend_workers.connections import Connections
from fanfuse_backend_workers.domain.pools import Pool
from fanfuse_contracts.backends import BackendsConfig
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, Stage
from fanfuse_contracts.health import Heartbeat, ServedPool

CONFIG = BackendsConfig.model_validate(
    {"keyword": {"main": {"engine": "elasticsearch", "url": "http://127.0.0.1:9", "pool": "words"}}}
)
CARD = CorpusCard(
    tenant="acme",
    corpus="docs",
    backends=tuple(Wiring(kind=kind, backend="main", pool="main") for kind in (Kind.VECTOR, Kind.KEYWORD)),
)


def operator(config: BackendsConfig, *servers: tuple[Kind, str]) -> Any:
    """One that hears a worker with these servers, and has this configuration itself."""
    pools = tuple(ServedPool(kind=kind, pool="main", servers=(name,)) for kind, name in servers)

    async def alive() -> tuple[Heartbeat, ...]:
        return (Heartbeat(service=Stage.BACKEND_WORKERS, instance="w1", version="0", ready=True, pools=pools),)

    return SimpleNamespace(alive=alive, servers=Connections(config, connect_server))


async def refused(config: BackendsConfig, *servers: tuple[Kind, str]) -> bool:
    try:
        await refuse_unstated_servers(operator(config, *servers), CARD)
    except OperatorError:
        return True
    return False


async def test_a_server_of_the_workers_that_this_command_does_not_know_is_refused() -> None:
    with pytest.raises(OperatorError, match=r"keyword/main is on an engine server.*-f; nothing was changed"):
        await refuse_unstated_servers(operator(BackendsConfig(), (Kind.KEYWORD, "main")), CARD)


async def test_what_both_know_or_the_corpus_does_not_use_is_no_matter() -> None:
    assert not await refused(CONFIG, (Kind.KEYWORD, "main"))
    assert not await refused(BackendsConfig(), (Kind.GRAPH, "main"))
    assert not await refused(BackendsConfig(), (Kind.KEYWORD, "eu"))
    assert await refused(BackendsConfig(), (Kind.KEYWORD, "main"))


def test_servers_are_named_by_their_pool() -> None:
    connections = Connections(CONFIG, connect_server)
    assert connections.names_of(Pool(Kind.KEYWORD, "words")) == ("main",)
    assert connections.names_of(Pool(Kind.KEYWORD, "main")) == ()
