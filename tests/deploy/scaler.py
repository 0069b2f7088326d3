"""The trigger of one pool as the manifests state it, and a monitoring port, read as KEDA's nats-jetstream scaler does.

In: a port. Out: the lag that KEDA would scale on.
"""

import asyncio
import json
import urllib.request
from typing import Any, Final

import yaml

from fanfuse_all_in_one.deploying.nats_users import ACCOUNT
from fanfuse_all_in_one.deploying.workers import Scaling, render_workers
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.enums import Kind

POOL: Final = (Kind.VECTOR, "main")
_SERVERS: Final = {
    "vector": {"main": {"engine": "qdrant", "url": "http://qdrant:6333"}},
    "keyword": {"main": {"engine": "elasticsearch", "url": "http://search:9200"}},
    "graph": {"main": {"engine": "neo4j", "url": "neo4j://graph:7687"}},
}


def scaler() -> dict[str, str]:
    """The trigger of the pool, as the manifests state it."""
    config = FanfuseConfig.model_validate({"backends": _SERVERS})
    documents = yaml.safe_load_all(render_workers(config, Scaling(), "fanfuse/backend-workers:0.1.0"))
    wanted = "worker-vector-main"
    scaled = next(each for each in documents if each["kind"] == "ScaledObject" and each["metadata"]["name"] == wanted)
    stated: dict[str, str] = scaled["spec"]["triggers"][0]["metadata"]
    return stated


class Monitor:
    """The monitoring port of one server, read as KEDA's nats-jetstream scaler reads it."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/jsz?acc={ACCOUNT}&consumers=true&config=true"

    async def lag(self) -> int | None:
        """num_pending + num_ack_pending of the consumer that the trigger names; None where there is none."""
        return _lag(await asyncio.to_thread(self._read), scaler())

    def _read(self) -> Any:
        with urllib.request.urlopen(self._url, timeout=5) as response:
            return json.load(response)


def _lag(document: Any, stated: dict[str, str]) -> int | None:
    for account in document["account_details"]:
        for stream in account.get("stream_detail", ()):
            for consumer in stream.get("consumer_detail", ()):
                if (account["name"], stream["name"], consumer["name"]) == (
                    stated["account"],
                    stated["stream"],
                    stated["consumer"],
                ):
                    return int(consumer["num_pending"] + consumer["num_ack_pending"])
    return None
