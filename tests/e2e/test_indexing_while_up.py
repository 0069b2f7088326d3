"""Indexing while queries are asked all the time: none fails, and the new text is there when the command ends."""

import asyncio
import json
from collections import Counter

from fanfuse_client import Client
from fanfuse_contracts.enums import Status


async def test_no_query_fails_and_the_new_text_is_found_at_once(running, acme_docs, tmp_path):
    running.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "live", "--public")
    url = json.loads((running.data / "bus.json").read_text())["url"]
    source = tmp_path / "source"
    source.mkdir()
    for file in acme_docs.iterdir():
        (source / file.name).write_text(file.read_text())
    (source / "new.md").write_text("# Parking\n\nThe quokka garage opens at seven in the morning.\n")
    (source / "coffee.txt").unlink()

    async with Client(url, "acme") as client:
        statuses: Counter[Status] = Counter()
        indexing = asyncio.create_task(
            asyncio.to_thread(running.must, "index", str(source), "--tenant", "acme", "--corpus", "live")
        )
        while not indexing.done():
            answer = await client.ask("holiday of employees", corpora=("live",), graph_seeds=())
            assert answer.hits
            statuses[answer.status] += 1
        await indexing
        found = await client.ask("quokka garage", corpora=("live",), graph_seeds=())
        gone = await client.ask("espresso machine", corpora=("live",), graph_seeds=())

    assert found.hits[0].title.startswith("Parking")
    assert set(statuses) == {Status.COMPLETE}
    assert statuses[Status.COMPLETE] > 20
    assert not any(hit.chunk_id.startswith("coffee") for hit in gone.hits)
