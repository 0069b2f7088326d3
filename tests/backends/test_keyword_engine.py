"""The keyword engine: text is data, identifiers are exact, nothing breaks the index."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder
from fanfuse_backend_workers.ports import SearchEngine, SearchRequest
from fanfuse_contracts.chunks import Chunk
from fanfuse_testing.hostile_queries import QUERIES, TEXTS


async def opened(folder: Path, texts: Sequence[str]) -> SearchEngine:
    chunks = [Chunk(chunk_id=f"c{number}", text=text, content_hash="0") for number, text in enumerate(texts)]
    builder = TantivyIndexBuilder()
    assert builder.build(folder, "acme", "docs", chunks) == len(texts)
    return await builder.open(folder)


async def found(engine: SearchEngine, text: str, identifiers: tuple[str, ...] = ()) -> list[str]:
    asked = SearchRequest("acme", "docs", text, window=10, timeout_s=5.0, identifiers=identifiers)
    return [hit.chunk_id for hit in (await engine.search(asked)).hits]


@pytest.mark.parametrize(("text", "hits"), QUERIES)
async def test_text_is_data(tmp_path: Path, text: str, hits: list[str]) -> None:
    """ELA-01, CLS-01: no operator, no field, no wildcard, no error."""
    engine = await opened(tmp_path, TEXTS)
    assert await found(engine, text) == hits
    await engine.close()


IDS = (
    "TRAVEL-2026-02 travel travel 2026 01 cancellation fee cancellation fee refund travel 01 01",
    "short notice about TRAVEL-2026-01",
    "TRAVEL-2025-01 travel 2026 01 cancellation fee",
    "cancellation fee cancellation fee cancellation fee",
    "RFC 9111 caching, see the RFC of RFCs, RFC RFC",
    "semantics: RFC 9110",
    "9110 people read an RFC",
    "行程 TRAVEL-2026-02 取消行程的退票费如何处理",
    "pm-18 pm pm pm 17 panel",
    "the pm-17 panel of many other words that make this text longer than the others are, and longer still",
)


@pytest.mark.parametrize(
    ("text", "identifiers", "first"),
    [
        ("TRAVEL-2026-01", (), "c1"),
        ("“TRAVEL-2026-01”", (), "c1"),
        ("travel-2026-01 cancellation fee", (), "c1"),
        ("TRAVEL-2026-01 中取消行程的退票费如何处理", ("TRAVEL-2026-01",), "c1"),
        ("RFC 9110", ("RFC 9110",), "c5"),
        ("pm-17", (), "c9"),
    ],
)
async def test_the_exact_identifier_comes_first(
    tmp_path: Path, text: str, identifiers: tuple[str, ...], first: str
) -> None:
    """CLS-03: no near miss is above it, whatever else the near miss says."""
    engine = await opened(tmp_path, IDS)
    assert (await found(engine, text, identifiers))[0] == first
    await engine.close()


async def test_an_identifier_that_is_not_there_has_no_near_miss(tmp_path: Path) -> None:
    engine = await opened(tmp_path, IDS)
    assert await found(engine, "TRAVEL-2026-03") == []
    await engine.close()


async def test_endless_tokens_blank_and_unspaced_text_are_indexed(tmp_path: Path) -> None:
    """ING-04: the text around a 40 kB token is found, and so is a paragraph without blanks."""
    texts = ["before " + "QUJD" * 10_000 + " after", "x" * 70_000, "   ", "行程" * 750]
    engine = await opened(tmp_path, texts)
    assert await engine.count() == 4
    assert await found(engine, "after") == ["c0"]
    assert await found(engine, "x" * 70_000) == []
    assert await found(engine, "行程") == ["c3"]
    await engine.close()
