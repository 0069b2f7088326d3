"""Accepted means answered, on real processes: kills of every role, a broker outage, doubled and swapped lane replies.

The small brother of `bench/run.py faults`: one fleet, a few hundred queries, the same ledger.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from types import ModuleType

import pytest
import pytest_asyncio

from fanfuse_client import Client, ClientError
from fanfuse_contracts import limits, streams
from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Stage
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing import simulated
from fanfuse_testing.faults import run
from fanfuse_testing.faults.fleet import Fleet, Size, fleet
from fanfuse_testing.faults.ledger import End
from fanfuse_testing.faults.replies import ReplyFaults
from fanfuse_testing.faults.schedule import Chaos, Fault, FaultKind, plan_faults
from fanfuse_testing.flow import eventually

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

RATE = 20.0
BUDGET_MS = 15_000
"""A busy machine may take longer than the default; whatever is lost shows all the same."""
TEXT = "What did Alice Smith of Acme Corp say about solar panels?"
REPLIES = ReplyFaults(duplicate=0.1, reorder=0.1, seed=3)
"""Harmless by promise: first valid reply of a lane wins, and no order is assumed."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    """Two processes of every role on one corpus, whose lane replies are doubled and swapped now and then."""
    async with fleet(tmp_path_factory.mktemp("fleet")) as started:
        await started.register_simulated()
        await started.launch(Size(2), REPLIES)
        yield started


@pytest.fixture(scope="module")
def bench(bench_module: Callable[[str], ModuleType]) -> ModuleType:
    return bench_module("faults")


def load(name: str, count: int) -> run.Load:
    queries = {f"{name}-{number}": SubmittedQuery(text=TEXT, budget_ms=BUDGET_MS) for number in range(count)}
    return run.Load(f"{simulated.TENANT}", queries, RATE, BUDGET_MS)


def told(result: run.Result) -> str:
    ends = ", ".join(f"{number} {end.value}" for end, number in result.balance.ends.items())
    return f"{dict(result.faults)}: {ends}; slowest {max(result.balance.after_ms):.0f} ms"


async def test_a_kill_of_every_role_costs_no_answer(running: Fleet, say: Callable[[str], None]) -> None:
    """NAT-08, NAT-09, JOI-03: one answer per accepted query, none lost, none twice."""
    victims = [f"{stage.value}-1" for stage in Stage]
    faults = plan_faults(Chaos(kill_every_s=2.5), 5, victims, 2.5 * len(victims))
    result = await run.run(running, load("kill", int(RATE * 2.5 * len(victims))), faults, say)

    assert dict(result.faults) == {f"kill {victim}": 1 for victim in victims}
    assert result.balance.broken == ()
    assert result.settled
    assert result.balance.complete_share >= 0.9
    say(told(result))


async def test_a_broker_outage_loses_nothing_that_was_accepted(running: Fleet, say: Callable[[str], None]) -> None:
    """Consumers go on without a restart of their processes, on the same storage."""
    before = running.pids
    result = await run.run(running, load("outage", 150), [Fault(2.0, FaultKind.BROKER, "", 3.0)], say)

    assert dict(result.faults) == {"broker broker": 1}
    assert result.balance.broken == ()
    assert result.settled
    assert result.balance.accepted + sum(result.refused.values()) == 150
    assert result.balance.ends.get(End.COMPLETE, 0) > 75
    assert {name: pid for name, pid in running.pids.items() if name != "broker"} == {
        name: pid for name, pid in before.items() if name != "broker"
    }
    say(told(result))


async def test_a_full_queue_refuses_by_type_and_loses_nothing(running: Fleet, say: Callable[[str], None]) -> None:
    """Whoever is accepted is answered; whoever is not hears that it may come again."""
    js = running.processes.operator.bus.js
    config = (await js.stream_info(streams.QUERIES.name)).config
    await js.update_stream(config.evolve(max_msgs=10))
    try:
        result = await run.run(running, replace(load("full", 200), rate=400.0), (), say)
    finally:
        await js.update_stream(config)

    assert result.balance.broken == ()
    assert result.settled
    assert set(result.refused) <= {"Overloaded"}
    # What expired names the stage that it waited for.
    waited = {f"expired waiting for {stage.value}" for stage in Stage}
    assert set(result.balance.reasons) <= {"overloaded", *waited}
    assert result.refused or "overloaded" in result.balance.reasons
    say(f"{told(result)}; {sum(result.refused.values())} refused before they were accepted")


async def test_answers_outlive_the_broker_for_a_day_for_late_callers_and_used_ids(running: Fleet) -> None:
    """NAT-07: another process reads an answer by tenant and query id; the id used anew gets it again."""
    info = await running.processes.operator.bus.js.stream_info(streams.ANSWERS.name)
    assert info.config.max_age == timedelta(hours=24).total_seconds()
    async with running.processes.client(simulated.TENANT) as early:
        first = await early.ask(TEXT, query_id="read-later")
    running.server.kill()
    running.server.start()

    async with running.processes.client(simulated.TENANT) as late:
        assert await eventually(lambda: _stored(late, "read-later")) == first
        # The broker has forgotten which message ids it knew: only the stored answer tells that the id was used.
        assert await late.ask("another text", query_id="read-later", budget_ms=limits.MAX_BUDGET_MS) == first
        assert await late.stored("never-asked") is None


async def _stored(client: Client, query_id: str) -> Answer | None:
    try:
        return await client.stored(query_id)
    except ClientError:
        return None  # the broker still starts


@pytest.mark.parametrize(("plant", "broken"), [("lost", "unanswered"), ("double", "stored 2 times")])
async def test_a_planted_fault_breaks_the_ledger(
    running: Fleet, bench: ModuleType, say: Callable[[str], None], plant: str, broken: str
) -> None:
    """What the harness must find, it finds."""
    result = await run.run(running, load(f"planted-{plant}", 10), (), say, bench.PLANTS[plant])

    assert [line for line in result.balance.broken if broken in line] == [f"planted-{plant}-0: {broken}"]
    assert not bench.report(result, 0, 0.0).kept
