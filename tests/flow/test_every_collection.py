"""Every query of every judged collection, through the bus as `fanfuse eval` asks it, against an independent reference.

The reference (tests/reference) is written from the formulas alone and imports nothing of the fuser: order and scores of
every place must be the same, bit for bit. Precomputed vectors only: nothing is embedded.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, Status
from fanfuse_contracts.query import Principal
from fanfuse_evaluation.asking import Manner
from fanfuse_evaluation.collections import read_sources
from fanfuse_evaluation.flow import Where, ask_collections
from fanfuse_evaluation.lane_lists import AskedQuery
from fanfuse_evaluation.offline import Places, differences
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.collections import collection_folder
from fanfuse_testing.flow import running_flow
from tests.reference import policies

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.nightly]

TENANT = "eval"
WITHOUT_VECTORS = "metaqa"
COLLECTIONS = (
    "adi", "cranfield", "cacm", "scifact", "nfcorpus", "fiqa-small", "cosqa", "t2ranking-sample", "musique-200",
    "metaqa",
)  # fmt: skip


@contextmanager
def unseen(name: str, total: int = 0) -> Iterator[Callable[..., None]]:
    yield lambda *_: None


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=COLLECTIONS)
async def records(
    request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[AskedQuery]]:
    """What became of each query. Asked here, so that a large collection is not cut short as a test that hangs."""
    folder = tmp_path_factory.mktemp("every")
    sources = read_sources([collection_folder(request.param, shared, folder)], shared / "data" / "vectors")
    with NatsServer(folder / "nats") as server:
        async with running_flow(server.url, folder / "data") as flow:
            if request.param == WITHOUT_VECTORS:
                kinds = (Kind.KEYWORD, Kind.GRAPH)
                wirings = tuple(Wiring(kind=kind, backend="main", pool="main") for kind in kinds)
                card = CorpusCard(tenant=TENANT, corpus=request.param, public=True, backends=wirings)
                await flow.operator.put_card(card, over=0)
            where = Where(server.url, TENANT, flow.data_dir, starts=False, principal=Principal(id="tester"))
            yield await ask_collections(where, sources, Manner(), unseen, unseen)


def reference_of(asked: AskedQuery) -> list[policies.ReferenceRow]:
    lanes = [
        policies.ReferenceLane(
            one.lane.corpus,
            one.lane.weight,
            [policies.Hit(hit.chunk_id, hit.rank, hit.score, hit.content_hash) for hit in one.hits],
        )
        for one in asked.lists
    ]
    assert asked.fusion is not None
    rows = policies.fuse(lanes, asked.fusion.policy.value)
    return policies.seat([(row, []) for row in rows], asked.fusion.reserved_seats)[: asked.top_k]


async def test_no_place_of_any_answer_differs_from_the_reference(
    records: list[AskedQuery], say: Callable[[str], None]
) -> None:
    assert {one.status for one in records} <= {Status.COMPLETE, Status.PARTIAL}

    wrong, places = [], 0
    for asked in records:
        wanted = [(row.chunk_id, row.score) for row in reference_of(asked)]
        found = [(hit.chunk_id, hit.score) for hit in asked.answer]
        places += len(wanted)
        wrong += [(asked.query_id, *pair) for pair in zip(found, wanted, strict=True) if pair[0] != pair[1]]

    say(f"{records[0].collection}: {len(records)} queries, {places} places, {len(wrong)} differences")
    assert wrong == []
    assert {differences(asked) for asked in records} <= {Places(len(asked.answer), 0, 0) for asked in records}
    assert places > 10 * len(records)
