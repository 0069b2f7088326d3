"""What contenders are given: an index of musique-200, its card, questions with vectors and seeds; and Fanfuse on it.

In: the evaluation data. Out: the ground, and a subject that is ready. Nothing outlives its block.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fanfuse_all_in_one.indexing import Wish, index_corpus
from fanfuse_bench import runs
from fanfuse_bench.children import measured
from fanfuse_bench.compare_engines import Trouble
from fanfuse_bench.compare_outcome import Outcome
from fanfuse_bench.compare_subjects import FanfuseSubject, Subject
from fanfuse_bench.corpora import TENANT
from fanfuse_contracts import limits
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.query import QueryVector, SubmittedQuery
from fanfuse_testing.collections import shared_folder
from fanfuse_testing.graph_questions import GraphQuestions, musique

CORPUS: Final = "musique-200"
CALM_BUDGET_MS: Final = 30_000
WARM: Final[dict[str, Any]] = {"queries": 50, "pace": {"at_once": 2}, "calm": True}
_MODEL: Final = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Ground:
    """An index, its card, questions with vectors and seeds."""

    data_dir: Path
    card: CorpusCard
    asked: GraphQuestions

    def queries(self, budget_ms: int) -> list[SubmittedQuery]:
        """The questions as Fanfuse is asked them."""
        vectors = self.asked.collection.query_vectors
        return [
            SubmittedQuery(
                text=text,
                corpora=(self.card.corpus,),
                include_text=False,
                budget_ms=budget_ms,
                graph_seeds=self.asked.seeds[key],
                vector=QueryVector(model=_MODEL, values=tuple(vectors[key].tolist())),
            )
            for key, text in self.asked.texts.items()
        ]

    def plan(self, away_s: float) -> dict[str, Any]:
        """The same for a peer."""
        vectors = self.asked.collection.query_vectors
        questions = [
            {"text": text, "vector": vectors[key].tolist(), "seeds": self.asked.seeds[key]}
            for key, text in self.asked.texts.items()
        ]
        return {
            "data_dir": str(self.data_dir), "card": self.card.model_dump(mode="json"), "questions": questions,
            "away_s": away_s, "window": limits.DEFAULT_WINDOW,
        }  # fmt: skip


@asynccontextmanager
async def prepared() -> AsyncIterator[Ground]:
    """The index, in a temporary folder."""
    asked = await asyncio.to_thread(musique, shared_folder())
    async with runs.place() as where:
        runs.say(f"indexing {CORPUS}: {len(asked.chunks)} chunks")
        wish = Wish(TENANT, CORPUS, public=True)
        done = await index_corpus(where.operator, where.data_dir, wish, asked.chunks, dict)
        yield Ground(where.data_dir, done.card, asked)


@asynccontextmanager
async def fanfuse_on(ground: Ground, away_s: float, budget_ms: int) -> AsyncIterator[FanfuseSubject]:
    """Fanfuse on a bus of its own, its engines `away_s` seconds away."""
    async with runs.place() as where:
        await where.operator.put_card(ground.card, over=0)
        arguments = (where.server.url, str(ground.data_dir), str(away_s))
        async with measured("compare_host", *arguments, log=where.folder / "host.log") as host:
            yield FanfuseSubject(where, host, ground.queries(budget_ms), ground.queries(CALM_BUDGET_MS))


async def meets(subject: Subject, trouble: Trouble, load: dict[str, Any]) -> Outcome:
    """What becomes of a load whose trouble begins when the subject is warm."""
    await subject.load(WARM)
    return await subject.load({**load, "trouble": trouble.value})
