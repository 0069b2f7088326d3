"""A rolling update under load: every process of every service is replaced as its Deployment says; no caller notices.

Two replicas of each, a successor that is ready before the old one gets SIGTERM, and the grace period of the manifests.
`bench/run.py faults --kill-every 0 --roll-every 10 --queries 2000` is the same in one run, with more queries.
"""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
import yaml

from fanfuse_contracts.enums import Stage
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_testing import simulated
from fanfuse_testing.faults import run
from fanfuse_testing.faults.fleet import Fleet, Size, fleet
from fanfuse_testing.faults.ledger import End
from fanfuse_testing.faults.schedule import Chaos, Fault, FaultKind
from tests.deploy.rendered import K8S

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

RATE = 15.0
LONGEST_S = 240
BUDGET_MS = 15_000
"""A busy machine may take longer than the default; whatever is lost shows all the same."""
OFTEN = {Stage.FUSER}
"""What holds most when it is asked to stop; the others are replaced in nightly runs."""
TEXT = "What did Alice Smith of Acme Corp say about solar panels?"
PROCESS = yaml.safe_load((K8S / "components/process/process.yaml").read_text(encoding="utf-8"))["spec"]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    """Two processes of every role on one corpus."""
    async with fleet(tmp_path_factory.mktemp("fleet")) as started:
        await started.register_simulated()
        await started.launch(Size(2))
        yield started


async def test_the_harness_replaces_processes_as_the_manifests_do() -> None:
    assert PROCESS["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert Chaos().grace_s == PROCESS["template"]["spec"]["terminationGracePeriodSeconds"]


@pytest.mark.parametrize(
    "stage", [stage if stage in OFTEN else pytest.param(stage, marks=pytest.mark.nightly) for stage in Stage]
)
async def test_every_process_is_replaced_under_load_and_no_caller_notices(
    running: Fleet, say: Callable[[str], None], stage: Stage
) -> None:
    """NAT-09: nothing lost, nothing twice, nobody refused, no lane missing; each old one ended by itself in time."""
    before = running.pids
    names = sorted(name for name in running.processes.started if name.startswith(stage.value))
    assert len(names) == 2
    faults = [Fault(2.0 * at, FaultKind.ROLL, name, Chaos().grace_s) for at, name in enumerate(names, 1)]
    query = SubmittedQuery(text=TEXT, budget_ms=BUDGET_MS)
    queries = {f"{stage.value}-{number}": query for number in range(int(RATE * LONGEST_S))}
    load = run.Load(simulated.TENANT, queries, RATE, BUDGET_MS, until_mended=True)
    result = await run.run(running, load, faults, say)
    after = running.pids

    balance = result.balance
    say(f"{dict(balance.ends)}; slowest {max(balance.after_ms):.0f} ms; drained in {max(result.drained_s):.1f} s")
    assert dict(result.faults) == {f"roll {name}": 1 for name in names}
    assert (result.refused, balance.broken, result.settled) == ({}, (), True)
    assert balance.accepted > RATE * 2
    assert {name for name in before if before[name] != after[name]} == set(names)
    assert balance.ends == {End.COMPLETE: balance.accepted}
