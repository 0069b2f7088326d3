"""A hot corpus gets workers of its own (deploy/README.md): another backend on the same server, no second indexing."""

from pathlib import Path

import pytest

from fanfuse_all_in_one.seeding import seed_corpora
from fanfuse_contracts.enums import Kind, LaneOutcome, Status
from fanfuse_runtime.configfile import load_config
from tests.flow.airships import FIELDS, QUESTION, library
from tests.flow.server_flow import backends_of, serving, write_config
from tests.servers.noida import NoidaServer
from tests.servers.qdrant import QdrantShim


async def test_a_corpus_moves_to_a_pool_of_its_own(
    tmp_path: Path, servers: tuple[QdrantShim, NoidaServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFUSE_WORKER_POOLS", "vector/main,vector/hot,keyword/main")
    backends = backends_of(*servers)
    backends["vector"]["hot"] = backends["vector"]["main"]
    corpus = {"id": "docs", "tenant_id": "acme", "card": {"public": True}}
    moved = corpus | {"backends": ["vector/hot", "keyword/main"]}
    async with serving(tmp_path, write_config(tmp_path, backends)) as flow:
        await flow.index("acme", "docs", library(), FIELDS)
        before = (await flow.operator.card("acme", "docs")).card
        file = load_config(write_config(tmp_path, backends, corpora=[moved]))
        report = await seed_corpora(flow.operator, file)
        assert "backends" in report.rows[0].fields
        after = (await flow.operator.card("acme", "docs")).card
        assert before is not None
        assert after is not None
        assert (after.generation, after.chunks) == (before.generation, before.chunks)
        async with flow.client("acme") as client:
            answer = await client.ask(QUESTION)
        lanes = {(lane.kind, lane.backend): lane.outcome for lane in answer.coverage.lanes}
        assert lanes == {(Kind.VECTOR, "hot"): LaneOutcome.ANSWERED, (Kind.KEYWORD, "main"): LaneOutcome.ANSWERED}
        assert answer.status is Status.COMPLETE
        assert answer.hits
