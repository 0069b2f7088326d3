"""What cannot be used when a worker starts is told until it can, and asked no longer than that."""

import asyncio
from typing import Any, cast

from structlog.testing import capture_logs

from fanfuse_backend_workers.connections import BackendKey, Server
from fanfuse_backend_workers.domain.pools import Pool, served_pools
from fanfuse_backend_workers.engine_watch import EngineWatch
from fanfuse_backend_workers.ports import SearchError
from fanfuse_backend_workers.servers import ServerBackend
from fanfuse_contracts.backends import BackendConfig
from fanfuse_contracts.enums import FailureKind, Kind
from fanfuse_testing.flow import eventually

CONFIG = BackendConfig.model_validate({"engine": "qdrant", "url": "http://localhost:6333"})


class Client:
    """Only `health` is asked of it."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.asked = 0

    async def health(self) -> None:
        self.asked += 1
        if self.problem:
            raise SearchError(FailureKind.UNAVAILABLE, self.problem)


def server(name: str, client: Client) -> Server:
    return Server(BackendKey(Kind.VECTOR, name), CONFIG, cast("ServerBackend", client))


def told(logs: Any) -> list[tuple[str, str, str]]:
    return [(row["event"], row["backend"], row.get("error", "")) for row in logs]


async def test_a_server_that_can_not_be_used_is_followed_until_it_can() -> None:
    good, bad = Client(), Client("it is down")
    watch = EngineWatch([server("main", good), server("hot", bad)], again_after_s=0.01)
    with capture_logs() as logs:
        await watch.start()
        assert watch.unusable == {(Kind.VECTOR, "hot")}
        bad.problem = "it refuses the key"
        await eventually(lambda: len(logs) == 2)
        bad.problem = ""
        await eventually(lambda: not watch.unusable)
        asked = bad.asked
        await asyncio.sleep(0.1)
    assert told(logs) == [
        ("server.not_usable", "vector/hot", "unavailable: it is down"),
        ("server.not_usable", "vector/hot", "unavailable: it refuses the key"),
        ("server.usable", "vector/hot", ""),
    ]
    assert (good.asked, bad.asked) == (1, asked), "what can be used is asked no more"
    await watch.close()


async def test_a_worker_that_stops_looks_no_more() -> None:
    bad = Client("it is down")
    watch = EngineWatch([server("main", bad)], again_after_s=0.01)
    await watch.start()
    await eventually(lambda: bad.asked > 1)
    await watch.close()
    asked = bad.asked
    await asyncio.sleep(0.1)
    assert bad.asked == asked


def test_a_pool_names_its_own_servers_that_can_not_be_used() -> None:
    pools = (Pool(Kind.VECTOR, "main"), Pool(Kind.KEYWORD, "main"))
    servers = {pools[0]: ("eu", "main"), pools[1]: ("main",)}
    served = served_pools(pools, (), (), dict.fromkeys(pools, 0.0), servers, {BackendKey(Kind.VECTOR, "main")})
    assert [pool.unusable for pool in served] == [("main",), ()]
