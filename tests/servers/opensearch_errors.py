"""Refusals as Elasticsearch and OpenSearch word them, and answers to a client that opens an index."""

from collections.abc import Callable
from typing import Any

from fanfuse_backend_workers.adapters.lucene_mapping import mapping
from fanfuse_backend_workers.servers import IndexKey
from fanfuse_testing.server_case import SHAPE
from tests.servers.opensearch_scripted import Answer, Asked

KEY = IndexKey("acme", "docs", "g1")
INDEX = "fanfuse.acme.docs.g1"
SECRET_TEXT = "the vault code is 4711"
"""Stands in every reason: servers quote the query and the document."""


def refusal(status: int, name: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """A refusal of a whole call."""
    cause = {"type": name, "reason": f"failed: {SECRET_TEXT}", **more}
    return Answer(status, {"error": {"root_cause": [cause], **cause}, "status": status}, headers or {})


BUSY = refusal(429, "es_rejected_execution_exception")
TRANSIENT = refusal(429, "circuit_breaking_exception", durability="TRANSIENT", bytes_wanted=1, bytes_limit=1)
PERMANENT = refusal(429, "circuit_breaking_exception", durability="PERMANENT", bytes_wanted=1, bytes_limit=1)
NO_SHARD = refusal(503, "no_shard_available_action_exception")


def hits(*names: str, **more: Any) -> Answer:
    """A search's reply with these chunks."""
    found = [
        {"_score": 10.0 - place, "_source": {"chunk_id": name, "content_hash": "0", "title": ""}}
        for place, name in enumerate(names)
    ]
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    return Answer(body={"took": 1, "timed_out": False, "_shards": shards, "hits": {"hits": found}, **more})


def searched(answer: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """An index that can be opened, and searches that are answered so."""

    def answered(asked: Asked) -> Answer:
        if asked.path.endswith("/_mapping"):
            return Answer(body={INDEX: {"mappings": mapping(KEY, SHAPE)}})
        return answer(asked)

    return answered
