"""`fanfuse corpus seed` against a real registry, and indexing what was seeded, whichever store keeps it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fanfuse_all_in_one.deleting import delete_chunks
from fanfuse_all_in_one.failures import ConflictError, OperatorError
from fanfuse_all_in_one.indexing import DEFAULT_EMBEDDER, Wish, index_corpus
from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.seeding import Change, seed_corpora
from fanfuse_contracts.chunks import Chunk, content_hash
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard, FieldType
from fanfuse_contracts.enums import Kind
from fanfuse_runtime.configfile import load_config
from fanfuse_runtime.server import NatsServer

VECTOR = (1.0, *(0.0,) * (DEFAULT_EMBEDDER.dimensions - 1))
DOCS = {"id": "docs", "tenant_id": "acme", "display_name": "Documents", "card": {"fields": {"year": "integer"}}}
LEGAL = {"id": "legal", "tenant_id": "acme", "card": {"readers": ["lawyer"], "source": "policy"}}
Connect = Callable[[FanfuseConfig], AbstractAsyncContextManager[Operator]]


def config(*corpora: Mapping[str, Any], **sections: Any) -> FanfuseConfig:
    return FanfuseConfig.model_validate({"corpora": list(corpora), **sections})


def generations(data: Path, corpus: str) -> list[Path]:
    return sorted(data.glob(f"acme/{corpus}/*/*"))


def chunks(*names: str) -> list[Chunk]:
    return [Chunk(chunk_id=name, text=name, content_hash=content_hash("", name), vector=VECTOR) for name in names]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def connect(nats_server: NatsServer, data: Path) -> Connect:
    @asynccontextmanager
    async def connected(file: FanfuseConfig) -> AsyncIterator[Operator]:
        async with operator_on(nats_server.url, alone=True, config=file, data_dir=data) as operator:
            yield operator

    return connected


async def index(operator: Operator, found: list[Chunk], corpus: str = "docs", **fields: FieldType) -> CorpusCard:
    wish = Wish("acme", corpus)
    return (await index_corpus(operator, operator.data_dir, wish, found, lambda: fields)).card


def told(report: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(row.name, row.change.value, row.fields) for row in report.rows]


async def test_what_the_file_says_is_created_changed_or_left_as_it_is(connect: Connect) -> None:
    file = config(DOCS, LEGAL)
    async with connect(file) as operator:
        assert told(await seed_corpora(operator, file)) == [("acme/docs", "created", ()), ("acme/legal", "created", ())]
        assert await operator.cards() == list(file.cards())
        before = await operator.registered()
        assert {row.change for row in (await seed_corpora(operator, file)).rows} == {Change.UNCHANGED}
        assert await operator.registered() == before, "nothing was written again"

        changed = config(DOCS | {"display_name": "Papers", "term_weights": {"a": 1.0}}, LEGAL)
        report = await seed_corpora(operator, changed)
        assert told(report) == [
            ("acme/docs", "changed", ("display_name", "term_weights")),
            ("acme/legal", "unchanged", ()),
        ]
        assert await operator.cards() == list(changed.cards())


async def test_who_may_read_a_corpus_changes_only_where_the_file_says_so(connect: Connect, tmp_path: Path) -> None:
    """What is not written down has the default that lets everybody of the tenant in: nobody chose it."""
    written = tmp_path / "fanfuse.yaml"

    async def seeded(operator: Operator, card: str) -> tuple[tuple[str, ...], CorpusCard]:
        written.write_text(f"corpora: [{{id: pay, tenant_id: acme, display_name: Pay, card: {card}}}]\n")
        (row,) = (await seed_corpora(operator, load_config(written))).rows
        found = (await operator.card("acme", "pay")).card
        assert found is not None
        return row.fields, found

    async with connect(config()) as operator:
        await operator.put_card(CorpusCard(tenant="acme", corpus="pay", readers=frozenset({"hr"})), 0)
        changed, card = await seeded(operator, "{source: policy}")
        assert (card.readers, card.display_name, card.source.value) == (frozenset({"hr"}), "Pay", "policy")
        assert "readers" not in changed
        assert await seeded(operator, "{source: policy}") == ((), card)
        assert (await seeded(operator, "{source: policy, readers: [hr, board]}"))[1].readers == {"hr", "board"}
        changed, card = await seeded(operator, "{source: policy, readers: []}")
        assert (changed, card.readers, card.public) == (("readers",), frozenset(), False)
        assert (await seeded(operator, "{public: true}"))[1].public
        assert (await seeded(operator, "{cost: 2.0}"))[1].public, "a file that does not say so closes nothing either"


async def test_a_dry_run_writes_nothing(connect: Connect) -> None:
    async with connect(config()) as operator:
        await operator.put_card(CorpusCard(tenant="acme", corpus="old"), 0)
        before = await operator.registered()
        report = await seed_corpora(operator, config(DOCS), prune=True, dry_run=True)
        assert told(report) == [("acme/docs", "created", ()), ("acme/old", "pruned", ())]
        assert await operator.registered() == before


async def test_what_index_made_is_kept_and_what_the_file_states_is_kept_by_index(connect: Connect) -> None:
    file = config(DOCS, LEGAL)
    async with connect(file) as operator:
        await seed_corpora(operator, file)
        card = await index(operator, chunks("a", "b"), lang=FieldType.STRING)
        assert (card.display_name, card.chunks, card.embedder) == ("Documents", 2, DEFAULT_EMBEDDER)
        assert card.fields == {"year": FieldType.INTEGER, "lang": FieldType.STRING}
        assert {row.change for row in (await seed_corpora(operator, file)).rows} == {Change.UNCHANGED}

        renamed = config(DOCS | {"display_name": "Papers", "weights": {"keyword": 2.0}}, LEGAL)
        assert told(await seed_corpora(operator, renamed))[0] == ("acme/docs", "changed", ("backends", "display_name"))
        after = (await operator.card("acme", "docs")).card
        assert after is not None
        assert (after.generation, after.chunks, after.indexed_at) == (card.generation, 2, card.indexed_at)
        assert after.fields == card.fields
        again = await index(operator, chunks("a"), lang=FieldType.STRING)
        assert (again.display_name, again.chunks, again.fields) == ("Papers", 1, card.fields)


async def test_a_field_that_holds_another_type_stops_the_run_and_changes_nothing(connect: Connect, data: Path) -> None:
    file = config(DOCS)
    async with connect(file) as operator:
        await seed_corpora(operator, file)
        live = await index(operator, chunks("a"))
        folders = generations(data, "docs")
        with pytest.raises(OperatorError, match=r"'year' of corpus docs is stated as integer.*holds string"):
            await index(operator, chunks("a", "b"), year=FieldType.STRING)
        assert (await operator.card("acme", "docs")).card == live
        assert generations(data, "docs") == folders


async def test_a_contradiction_is_found_before_anything_is_written(connect: Connect) -> None:
    async with connect(config()) as operator:
        await index(operator, chunks("a"), year=FieldType.STRING)
        before = await operator.registered()
        with pytest.raises(OperatorError, match=r"year.*index it again with this file"):
            await seed_corpora(operator, config(LEGAL, DOCS))
        other = DOCS | {"embedder": {"model": "another", "dimensions": 8}}
        with pytest.raises(OperatorError, match=r"indexed with all-MiniLM.*states another"):
            await seed_corpora(operator, config(other | {"card": {}}))
        assert await operator.registered() == before


async def test_a_corpus_is_embedded_with_what_its_file_states(connect: Connect) -> None:
    own = DOCS | {"embedder": {"model": "ours", "dimensions": 3, "local": False}}
    async with connect(config(own)) as operator:
        with pytest.raises(OperatorError, match="ours makes 3"):
            await index(operator, chunks("a"))
        short = [chunk.model_copy(update={"vector": (1.0, 0.0, 0.0)}) for chunk in chunks("a")]
        card = await index(operator, short)
        assert card.embedder is not None
        assert (card.embedder.model, card.chunks) == ("ours", 1)


async def test_prune_deletes_what_the_file_does_not_name_of_its_tenants_only(connect: Connect, data: Path) -> None:
    async with connect(config()) as operator:
        await index(operator, chunks("a"), corpus="old")
        await operator.put_card(CorpusCard(tenant="acme", corpus="external"), 0)
        await operator.put_card(CorpusCard(tenant="globex", corpus="theirs"), 0)
        assert told(await seed_corpora(operator, config(DOCS))) == [("acme/docs", "created", ())]
        report = await seed_corpora(operator, config(DOCS), prune=True)
        assert told(report) == [
            ("acme/docs", "unchanged", ()),
            ("acme/external", "pruned", ()),
            ("acme/old", "pruned", ()),
        ]
        assert [(card.tenant, card.corpus) for card in await operator.cards()] == [
            ("acme", "docs"),
            ("globex", "theirs"),
        ]
        assert not generations(data, "old")


async def test_an_index_run_that_comes_between_is_not_overwritten(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(config()) as operator:
        await operator.put_card(CorpusCard(tenant="acme", corpus="docs"), 0)
        put = operator.put_card
        overtaken: list[int] = []

        async def overtake_once(card: CorpusCard, over: int) -> int:
            if not overtaken:
                moved = CorpusCard(tenant="acme", corpus="docs", generation="g9", chunks=9)
                overtaken.append(await put(moved, over))
            return await put(card, over)

        monkeypatch.setattr(operator, "put_card", overtake_once)
        await seed_corpora(operator, config(DOCS))
        found = (await operator.card("acme", "docs")).card
        assert found is not None
        assert (found.generation, found.chunks, found.display_name) == ("g9", 9, "Documents")


async def test_a_registry_that_never_holds_still_is_a_conflict(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(config()) as operator:

        async def refuse(_card: CorpusCard, _over: int) -> int:
            raise ConflictError("changed meanwhile")

        monkeypatch.setattr(operator, "put_card", refuse)
        with pytest.raises(ConflictError):
            await seed_corpora(operator, config(DOCS))


async def test_the_embedded_vector_wiring_is_shared_however_it_is_written(connect: Connect) -> None:
    file = config(DOCS)
    async with connect(file) as operator:
        indexed = await index(operator, chunks("a"), corpus="plain")
        for wirings in (indexed.backends, file.cards()[0].backends):
            assert {wiring.kind: wiring.shared for wiring in wirings} == {
                Kind.VECTOR: True,
                Kind.KEYWORD: False,
                Kind.GRAPH: False,
            }


# -- the file as the registry -----------------------------------------------------------------------------------


async def test_with_the_registry_in_the_file_index_and_delete_work_and_what_is_stated_stays(
    connect: Connect, data: Path
) -> None:
    file = config(DOCS, registry={"store": "memory"})
    async with connect(file) as operator:
        card = await index(operator, chunks("a", "b"), lang=FieldType.STRING)
        assert (card.display_name, card.chunks) == ("Documents", 2)
        assert card.fields == {"year": FieldType.INTEGER, "lang": FieldType.STRING}
        done = await delete_chunks(operator, data, "acme", "docs", ["a"])
        assert (done.chunks, done.left) == (1, 1)
        with pytest.raises(OperatorError, match=r"take it out of section corpora"):
            await delete_chunks(operator, data, "acme", "docs", None)
        with pytest.raises(OperatorError, match=r"nothing to seed"):
            await seed_corpora(operator, file)
    async with connect(config(DOCS | {"display_name": "Papers"}, registry={"store": "memory"})) as operator:
        found = (await operator.card("acme", "docs")).card
        assert found is not None
        assert (found.display_name, found.chunks) == ("Papers", 1)


async def test_with_the_registry_in_the_file_a_run_that_can_t_be_registered_is_refused_before_it_begins(
    connect: Connect, data: Path
) -> None:
    read: list[str] = []

    def unread() -> Iterator[Chunk]:
        read.append("something")
        yield from chunks("a")

    async with connect(config(DOCS, registry={"store": "memory"})) as operator:
        with pytest.raises(OperatorError, match=r"corpus more of tenant acme is not in the file"):
            await index_corpus(operator, data, Wish("acme", "more"), unread(), dict)
        with pytest.raises(OperatorError, match=r"public of corpus docs: .*change it there"):
            await index_corpus(operator, data, Wish("acme", "docs", public=True), unread(), dict)
    assert not read


async def test_an_operator_follows_the_environment_as_a_service_does(
    nats_server: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fanfuse.yaml"
    path.write_text("registry: {store: memory}\ncorpora: [{id: docs, tenant_id: acme, display_name: Documents}]\n")
    monkeypatch.setenv("FANFUSE_CONFIG_FILE", str(path))
    monkeypatch.setenv("FANFUSE_DATA_DIR", str(tmp_path / "here"))
    async with operator_on(nats_server.url, alone=True) as operator:
        assert [card.display_name for card in await operator.cards()] == ["Documents"]
        assert operator.data_dir == tmp_path / "here"


async def test_an_unusable_database_is_a_plain_error_of_the_command(nats_server: NatsServer) -> None:
    file = config(registry={"store": "postgres", "postgres_dsn": "postgresql://u:hidden@127.0.0.1:1/x"})
    with pytest.raises(OperatorError, match=r"registry\.postgres_dsn does not serve") as refused:
        async with asyncio.timeout(20), operator_on(nats_server.url, alone=True, config=file) as operator:
            await operator.cards()
    assert "hidden" not in str(refused.value)
