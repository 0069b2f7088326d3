"""The vector engine is really taken away, and comes back: its worker process is killed and started again.

In: a scene and a question with and without graph seeds. Out: nothing but what is printed and checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fanfuse_cli.demo.checks import check, check_complete, kinds_with_hits
from fanfuse_cli.demo.scene import Scene
from fanfuse_contracts.enums import Kind, Status


@dataclass(frozen=True, slots=True)
class OutageQuestion:
    """A question that all three kinds can answer."""

    tenant: str
    corpus: str
    text: str
    seeds: Sequence[str]


async def play_outage(scene: Scene, question: OutageQuestion) -> None:
    """Before, during and after."""
    pinned = {"corpora": (question.corpus,), "top_k": 5}
    seeds = tuple(question.seeds)

    scene.step("All three kinds answer")
    before = await scene.ask(question.tenant, question.text, graph_seeds=seeds, **pinned)
    check_complete(before, "before the outage")
    check(kinds_with_hits(before) == set(Kind), "before the outage: expected hits of all three kinds")

    scene.step(f"kill -9 of the vector worker (process {scene.worker.pid})")
    scene.worker.kill()
    scene.console.print("  gone; nothing else was told")

    scene.step("Without graph seeds only keyword is left: bm25_fallback")
    answer = await scene.ask(question.tenant, question.text, graph_seeds=(), **pinned)
    check(answer.status is Status.PARTIAL, f"without vector: expected a partial answer, got {answer.status.value}")
    check(bool(answer.hits), "without vector: expected keyword hits")
    check(answer.bm25_fallback, "without vector and graph: expected bm25_fallback=True")

    scene.step("With graph seeds graph still answers: partial, no bm25_fallback")
    answer = await scene.ask(question.tenant, question.text, graph_seeds=seeds, **pinned)
    check(answer.status is Status.PARTIAL, f"with a live graph: expected a partial answer, got {answer.status.value}")
    check(not answer.bm25_fallback, "with a live graph: expected bm25_fallback=False")
    check(kinds_with_hits(answer) == {Kind.KEYWORD, Kind.GRAPH}, "expected hits of keyword and graph")
    await _show_health(scene)

    scene.step("The vector worker is started again")
    scene.worker.start()
    scene.console.print(f"  process {scene.worker.pid}; waiting until it lives and health lets queries through")
    await scene.vector_is_back()
    await _show_health(scene)
    after = await scene.ask(question.tenant, question.text, graph_seeds=seeds, **pinned)
    check_complete(after, "after the outage")
    check([hit.chunk_id for hit in after.hits] == [hit.chunk_id for hit in before.hits], "expected the hits of before")


async def _show_health(scene: Scene) -> None:
    states = await scene.operator.backend_states()
    for state in states:
        said = f"{state.kind.value}/{state.backend} is {state.state.value}"
        scene.console.print(f"  health: {said} since {state.since}: {state.reason}")
    if not states:
        scene.console.print("  health: no backend was marked; the router saw the missing heartbeats")
