"""Judged queries through the bus and offline on the same lists: the same order and the same scores, bit for bit."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fanfuse_all_in_one.failures import UnknownCorpusError
from fanfuse_contracts.enums import Kind, Status
from fanfuse_contracts.fusion import FusionConfig
from fanfuse_contracts.query import Principal
from fanfuse_evaluation.asking import ForeignChunkError, Manner
from fanfuse_evaluation.collections import read_sources
from fanfuse_evaluation.figures import figures_of
from fanfuse_evaluation.flow import Where, ask_collections
from fanfuse_evaluation.lane_lists import AskedQuery, load, save
from fanfuse_evaluation.offline import Places, differences, fused_again
from fanfuse_testing.flow import Flow
from tests.flow.collections import write_collection

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "eval"
PINNED = Manner()


class Shown:
    """What a person would see."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, str, int]] = []
        self.asked: list[str] = []

    @contextmanager
    def indexing(self, name: str) -> Iterator:
        yield lambda part, done: self.parts.append((name, part, done))

    @contextmanager
    def counting(self, name: str, total: int) -> Iterator:
        yield lambda: self.asked.append(f"{name} of {total}")


async def ask(
    flow: Flow, *folders: Path, shown: Shown | None = None, manner: Manner = PINNED, **where
) -> list[AskedQuery]:
    sources = read_sources(folders, folders[0].parent)
    shown = shown or Shown()
    stated: dict[str, Any] = {"starts": False, "principal": Principal(id="tester")} | where
    place = Where(flow.url, stated.pop("tenant", TENANT), flow.data_dir, **stated)
    return await ask_collections(place, sources, manner, shown.indexing, shown.counting)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("collections")
    return write_collection(base / "airships"), write_collection(base / "balloons", 20)


async def test_through_the_bus_and_offline_agree_exactly(flow: Flow, folders: tuple[Path, Path], tmp_path: Path):
    shown = Shown()

    records = await ask(flow, folders[0], shown=shown)
    save(tmp_path / "lanes.jsonl", records)
    again = load(tmp_path / "lanes.jsonl")

    assert [one.query_id for one in records] == [f"q{n}" for n in range(10)]
    assert {(one.status, one.lost) for one in records} == {(Status.COMPLETE, ())}
    assert again == tuple(records)
    assert all({found.lane.kind for found in one.lists} >= {Kind.KEYWORD, Kind.VECTOR} for one in again)
    assert all(fused_again(one, FusionConfig()) == one.answer for one in again)
    found = [differences(one) for one in again]
    assert sum(one.compared for one in found) == sum(len(one.answer) for one in records) > 300
    assert {(one.order, one.score) for one in found} == {(0, 0)}
    assert shown.parts
    assert shown.asked == ["airships of 10"] * 10


async def test_parts_of_a_document_count_as_the_document(flow: Flow, folders: tuple[Path, Path]):
    records = await ask(flow, folders[0])
    (figures,) = figures_of(records)

    assert any("#" in part for one in records for part in one.documents)
    assert {document for one in records for document in one.documents.values()} == {"long"}
    keyword = figures.row("keyword/main")
    assert keyword is not None
    assert keyword.values["R@100"].mean() == 1.0
    assert keyword.values["MRR@10"].mean() > 0.5


async def test_a_corpus_is_indexed_once_and_again_when_its_files_are_newer(flow: Flow, folders: tuple[Path, Path]):
    first, second, third = Shown(), Shown(), Shown()

    await ask(flow, folders[1], shown=first)
    await ask(flow, folders[1], shown=second)
    before = (await flow.operator.card(TENANT, "balloons")).card
    corpus = folders[1] / "corpus.jsonl"
    os.utime(corpus, (time.time() + 2, time.time() + 2))
    await ask(flow, folders[1], shown=third)
    after = (await flow.operator.card(TENANT, "balloons")).card

    assert (bool(first.parts), second.parts, bool(third.parts)) == (True, [], True)
    assert before is not None
    assert after is not None
    assert before.generation != after.generation


async def test_federated_queries_name_no_corpus(flow: Flow, folders: tuple[Path, Path]):
    records = await ask(flow, *folders, manner=Manner(federated=True))

    assert {one.collection for one in records} == {"airships", "balloons"}
    assert all({found.lane.corpus for found in one.lists} == {"airships", "balloons"} for one in records)
    assert all(differences(one) == Places(len(one.answer), 0, 0) for one in records)
    assert [figures.name for figures in figures_of(records)] == ["airships", "balloons"]


async def test_a_flow_of_somebody_else_must_hold_the_corpus(flow: Flow, folders: tuple[Path, Path]):
    with pytest.raises(UnknownCorpusError, match="tenant other has no corpus airships: index it there first"):
        await ask(flow, folders[0], tenant="other", foreign=True)


async def test_a_corpus_of_other_documents_is_told_apart(flow: Flow, folders: tuple[Path, Path], tmp_path: Path):
    await ask(flow, folders[0])
    smaller = write_collection(tmp_path / "airships", 5)

    with pytest.raises(
        ForeignChunkError, match=r"corpus airships holds 'd\d+', which is no document of the collection"
    ):
        await ask(flow, smaller, foreign=True)
