"""Every service as processes of its own: any number of replicas, and two of them killed while queries run."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
import pytest_asyncio

from fanfuse_client.queries import Named
from fanfuse_contracts import headers, streams, subjects
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage, Status
from fanfuse_contracts.query import Principal, QueryVector, SubmittedQuery
from fanfuse_testing.flow import eventually
from fanfuse_testing.processes import Processes
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT = "acme"
QUERIES, CONCURRENT = 120, 32
REPLICATED = [stage for stage in Stage if stage is not Stage.FUSER]
VECTOR = QueryVector(model="all-MiniLM-L6-v2", values=(1.0, *(0.0,) * 383))
QUERY = SubmittedQuery(text=QUESTION, graph_seeds=SEEDS, vector=VECTOR, budget_ms=30_000)


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def services(processes: Processes) -> None:
    """Two of every service but the fuser, on one corpus."""
    await processes.index(TENANT, "docs", library(), FIELDS)
    for stage in REPLICATED:
        for number in (1, 2):
            processes.launch(stage, f"{stage.value}-{number}")
    processes.launch(Stage.FUSER, "fuser-1")
    await processes.ready()


def queries(run: str) -> Iterator[Named]:
    for number in range(QUERIES):
        yield f"{run}-{number}", QUERY


async def run_all(
    processes: Processes, run: str, after: Callable[[int], None] = lambda done: None
) -> dict[str, Answer]:
    """Ask all queries of a run; each has one answer, for its caller, for a subscriber and in the stream.

    `after` is called with the number of answers so far.
    """
    before = await processes.stored_answers(TENANT)
    answers: dict[str, Answer] = {}
    async with processes.ledger(TENANT) as ledger, processes.client(TENANT) as client:
        async for key, answer in client.stream(queries(run), CONCURRENT):
            assert key not in answers
            answers[key] = answer
            after(len(answers))
        await eventually(lambda: len(ledger.heard) == QUERIES)
        # A second answer would come from a redelivery: those are over when nothing waits any more.
        await eventually(lambda: is_idle(processes), within_s=30.0)
    assert ledger.heard == Counter({f"{run}-{number}": 1 for number in range(QUERIES)})
    assert await processes.stored_answers(TENANT) - before == QUERIES
    assert Counter(answer.missing_texts for answer in answers.values()) == {(): QUERIES}
    return answers


async def is_idle(processes: Processes) -> bool:
    loads = await processes.operator.stream_loads()
    work = [load for load in loads if load.stream in {streams.QUERIES.name, streams.RETRIEVE.name}]
    return all(load.messages == 0 for load in work)


@pytest.mark.parametrize("fusers", [1, 2, 4])
async def test_all_queries_complete_with_any_number_of_fusers(
    processes: Processes, say: Callable[[str], None], fusers: int
) -> None:
    """NAT-08: replicas share a durable, and each plan is joined once."""
    await processes.scale(Stage.FUSER, fusers)
    started = time.monotonic()
    answers = await run_all(processes, f"fusers-{fusers}")
    assert Counter(answer.status for answer in answers.values()) == {Status.COMPLETE: QUERIES}
    joined = [await answered_by(processes, f"fuser-{number}") for number in range(1, fusers + 1)]
    assert all(count > 0 for count in joined), joined
    say(
        f"{fusers} fusers, 2 of every other service: {QUERIES} complete in {time.monotonic() - started:.1f} s; {joined}"
    )


async def answered_by(processes: Processes, name: str) -> float:
    return await processes.metric(name, "fanfuse_queries_total", status="complete")


@pytest.mark.parametrize(
    "victims",
    [("fuser-1", "backend-workers-1"), ("classifier-1", "corpus-router-1", "health-1")],
    ids=["fuser and worker", "classifier, router and health"],
)
async def test_killed_processes_cost_no_answer(
    processes: Processes, say: Callable[[str], None], victims: tuple[str, ...]
) -> None:
    """Accepted means answered: whoever takes over finds everything it needs on the bus."""

    def kill(done: int) -> None:
        if done == QUERIES // 5:
            for name in victims:
                processes.kill(name)

    answers = await run_all(processes, f"kill-{victims[0]}", kill)
    assert Counter(answer.status for answer in answers.values()) == {Status.COMPLETE: QUERIES}
    assert not any(processes.started[name].running for name in victims)
    slowest = max(answer.elapsed_ms for answer in answers.values())
    say(f"kill -9 of {', '.join(victims)}: {QUERIES} complete, each answered once; slowest {slowest:.0f} ms")
    for name in victims:
        await processes.restart(name)


async def test_log_lines_are_json_with_query_and_trace_id(processes: Processes) -> None:
    """OBS-05: the line of a decision is found by the ids its caller knows."""
    trace_id, query_id = token_hex(16), "logged"
    nc = processes.operator.bus.nc
    body = QUERY.model_copy(update={"principal": Principal(id="tester")}).to_json()
    sent = {headers.TRACEPARENT: f"00-{trace_id}-{token_hex(8)}-01"}
    await nc.publish(subjects.query_submitted(TENANT, query_id), body, headers=sent)
    async with processes.client(TENANT) as client:
        await eventually(lambda: client.stored(query_id))

    def lines() -> list[dict[str, object]]:
        logs = "".join(process.log.read_text() for process in processes.started.values())
        return [line for line in map(json.loads, logs.splitlines()) if line.get("query_id") == query_id]

    found = await eventually(lines)
    assert {line["trace_id"] for line in found} == {trace_id}
    assert {line["tenant"] for line in found} == {TENANT}
    assert "corpus.route_decision" in {line["event"] for line in found}
    assert QUESTION not in json.dumps(found)


async def test_a_stop_is_graceful(processes: Processes) -> None:
    """NAT-09: SIGTERM while queries run, then SIGTERM all the time: exit 0, and no query notices."""
    await processes.scale(Stage.FUSER, 2)
    stopping: list[asyncio.Task[int]] = []

    async def stop_impatiently(name: str) -> int:
        process = processes.started[name]
        ended = asyncio.create_task(process.stop())
        while not ended.done():
            assert process.popen is not None
            process.popen.terminate()
            await asyncio.sleep(0.01)
        return await ended

    def stop(done: int) -> None:
        if done == QUERIES // 5:
            stopping.extend(asyncio.create_task(stop_impatiently(name)) for name in ("fuser-2", "backend-workers-2"))

    answers = await run_all(processes, "stop", stop)
    assert Counter(answer.status for answer in answers.values()) == {Status.COMPLETE: QUERIES}
    assert await asyncio.gather(*stopping) == [0, 0]
