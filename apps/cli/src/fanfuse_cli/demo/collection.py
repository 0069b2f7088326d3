"""The demonstration on a judged collection in BEIR form: every query through the bus, nDCG@10, then an outage."""

import time
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Final

from fanfuse_all_in_one.demo_corpora import ACME, beir_corpus
from fanfuse_all_in_one.judged_collection import Collection, read_collection
from fanfuse_backend_workers.generations import CorpusName, read_chunks
from fanfuse_cli.demo.checks import check
from fanfuse_cli.demo.local import index_demo_corpus
from fanfuse_cli.demo.ndcg import ndcg
from fanfuse_cli.demo.outage import OutageQuestion, play_outage
from fanfuse_cli.demo.scene import Scene
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Status

TENANTS = (ACME,)
_CONCURRENCY: Final = 8
_SHOWN: Final = 2
_DEPTH: Final = 10
_BUDGET_MS: Final = 10_000
_MIN_SEED_CHARS: Final = 4


async def play_collection(scene: Scene, folder: Path, vectors: Path | None) -> None:
    """Index, ask every judged query, print quality, lose and regain the vector engine."""
    collection = read_collection(folder)
    scene.step(f"Index {collection.documents}")
    await index_demo_corpus(scene, beir_corpus(collection, vectors))
    scene.step("The first queries")
    for text in list(collection.queries.values())[:_SHOWN]:
        await scene.ask(ACME, text, corpora=(collection.name,), top_k=5, budget_ms=_BUDGET_MS)
    await _measure(scene, collection)
    await play_outage(scene, await _outage_question(scene, collection))


async def _measure(scene: Scene, collection: Collection) -> None:
    scene.step(f"All {len(collection.queries)} judged queries through the bus, {_CONCURRENCY} at a time")
    fields = {"corpora": (collection.name,), "top_k": 50, "include_text": False, "budget_ms": _BUDGET_MS}
    started = time.monotonic()
    scores: list[float] = []
    statuses: Counter[Status] = Counter()
    answers = scene.clients[ACME].stream(collection.queries.items(), _CONCURRENCY, **fields)
    async for query_id, answer in answers:
        statuses[answer.status] += 1
        scores.append(ndcg(_documents(answer), collection.judgements[query_id], _DEPTH))
    took = time.monotonic() - started
    told = ", ".join(f"{count} {status.value}" for status, count in statuses.items())
    scene.console.print(f"  {told} in {took:.1f} s; nDCG@{_DEPTH} of the fused lists {fmean(scores):.4f}")
    check(statuses[Status.COMPLETE] == len(collection.queries), f"expected every answer complete, got {told}")


def _documents(answer: Answer) -> list[str]:
    """Distinct documents: a long record is split, and its parts are named `<id>#<part>`."""
    return list(dict.fromkeys(hit.chunk_id.partition("#")[0] for hit in answer.hits))


async def _outage_question(scene: Scene, collection: Collection) -> OutageQuestion:
    """The first query, with the entity that most documents mention as its seed."""
    card = (await scene.operator.card(ACME, collection.name)).card
    assert card is not None
    assert card.generation is not None
    chunks = read_chunks(scene.data_dir, CorpusName(ACME, collection.name), card.generation)
    mentions = Counter(name for chunk in chunks for name in chunk.entities if len(name) >= _MIN_SEED_CHARS)
    check(bool(mentions), f"{collection.name} mentions no entity: graph search has nothing to start from")
    seed = mentions.most_common(1)[0][0]
    return OutageQuestion(ACME, collection.name, next(iter(collection.queries.values())), (seed,))
