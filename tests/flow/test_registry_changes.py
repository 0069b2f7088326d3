"""A change of the registry reaches routing in every running replica, without a restart: measured for every store.

Two classifiers and two routers run as processes; whichever of them answers, a decision must follow the change.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fanfuse_all_in_one.failures import ConflictError, OperatorError
from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.seeding import seed_corpora
from fanfuse_client import Client, ClientError
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.enums import Kind, RejectionCode, Stage, Status
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.configfile import load_config
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import eventually, running_flow
from fanfuse_testing.postgres import PostgresServer
from fanfuse_testing.processes import Processes
from tests.flow.airships import FIELDS, QUESTION, library

pytestmark = pytest.mark.slow

TENANT = "acme"
AGREEING = 24
"""Decisions in a row that must agree: either of two replicas has answered some of them."""
FRESH = CorpusCard(
    tenant=TENANT,
    corpus="fresh",
    public=True,
    backends=(Wiring(kind=Kind.KEYWORD, backend="main", pool="main"),),
)
HIDDEN = FRESH.model_copy(update={"public": False, "readers": frozenset({"board"})})
ASK = SubmittedQuery(text="annual report", corpora=("fresh",))
FILE = FanfuseConfig.model_validate(
    {"corpora": [{"id": "fresh", "tenant_id": TENANT, "card": {"public": True}, "backends": ["keyword/main"]}]}
)
NOT_KNOWN = (RejectionCode.UNKNOWN_CORPUS, RejectionCode.NO_VISIBLE_CORPUS)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Site:
    """Two classifiers, two routers and a caller without a name, on a bus that can be broken."""

    server: NatsServer
    operator: Operator
    caller: Client

    async def write(self, card: CorpusCard | None) -> float:
        """Register a card, or take it out (None); returns when it was stored, seconds of the monotonic clock."""

        async def stored() -> float:
            try:
                before = await self.operator.card(TENANT, "fresh")
                if card is None:
                    await self.operator.delete_card(TENANT, "fresh", before.revision)
                else:
                    await self.operator.put_card(card, before.revision)
            except ConflictError:
                raise
            except OperatorError:  # the registry is not back yet
                return 0.0
            return time.monotonic()

        done: float = await eventually(stored, 60.0)
        return done

    async def follows(self, is_routed: bool, since: float) -> float:
        """Seconds from `since` until the last decision that did not follow yet."""
        last, agreeing = since, 0
        async with asyncio.timeout(60):
            while agreeing < AGREEING:
                if await self._is_routed() is is_routed:
                    agreeing += 1
                else:
                    last, agreeing = time.monotonic(), 0
                await asyncio.sleep(0.005)
        return last - since

    async def _is_routed(self) -> bool | None:
        try:
            reply = await self.caller.decide(ASK)
        except ClientError:
            return None
        # No worker runs: a known corpus is planned at first, and "down" once the router has listened long enough.
        return reply.rejection is None or reply.rejection.code not in NOT_KNOWN


@asynccontextmanager
async def site(folder: Path, file: Path | None = None) -> AsyncIterator[Site]:
    environment = {} if file is None else {"FANFUSE_CONFIG_FILE": str(file)}
    config = FanfuseConfig() if file is None else load_config(file)
    with NatsServer(folder / "nats") as server:
        async with (
            operator_on(server.url, config=config, data_dir=folder / "data") as operator,
            Client(server.url, TENANT) as caller,
        ):
            processes = Processes(server.url, folder / "data", operator, folder)
            try:
                for stage in (Stage.CLASSIFIER, Stage.CORPUS_ROUTER):
                    for number in (1, 2):
                        processes.launch(stage, f"{stage.value}-{number}", environment)
                await processes.ready()
                yield Site(server, operator, caller)
            except BaseException:
                for process in processes.started.values():
                    process.kill()
                raise
            await processes.close()


async def round_of_changes(running: Site) -> list[float]:
    """Register, hide, show and delete a corpus; the seconds until every replica followed each."""
    steps: list[tuple[CorpusCard | None, bool]] = [(FRESH, True), (HIDDEN, False), (FRESH, True), (None, False)]
    return [await running.follows(is_routed, await running.write(card)) for card, is_routed in steps]


def tell(say: Say, what: str, took: list[float]) -> None:
    say(f"{what}: {', '.join(f'{each * 1e3:.0f}' for each in took)} ms")


async def test_in_the_bus_also_after_a_broker_restart_and_by_seeding(tmp_path: Path, say: Say) -> None:
    async with site(tmp_path) as running:
        took = await round_of_changes(running)
        tell(say, "a corpus is registered, hidden, shown, deleted: two routers follow after", took)
        await seed_corpora(running.operator, FILE)
        assert await running.follows(True, time.monotonic()) == 0.0, "seeding returns when every replica follows"
        for _ in range(2):
            running.server.kill()
            await asyncio.sleep(0.5)
            running.server.start()
            took = await round_of_changes(running)
            tell(say, "the same after the broker was killed and started again", took)


async def test_in_postgres_also_while_and_after_it_is_away(
    tmp_path: Path, own_postgres: PostgresServer, say: Say
) -> None:
    """While the database is away routing goes on with the last known cards."""
    file = tmp_path / "fanfuse.yaml"
    file.write_text(f"registry: {{store: postgres, postgres_dsn: '{own_postgres.dsn()}'}}\n")
    async with site(tmp_path, file) as running:
        took = await round_of_changes(running)
        tell(say, "the same with the registry in PostgreSQL", took)
        await running.follows(True, await running.write(FRESH))
        own_postgres.stop()
        assert await running.follows(True, time.monotonic()) == 0.0
        with pytest.raises(OperatorError, match=r"registry\.postgres_dsn does not serve"):
            await running.operator.cards()
        own_postgres.start()
        took = await round_of_changes(running)
        tell(say, "the same after PostgreSQL was killed and started again", took)


async def test_in_the_file_what_index_makes_is_searched_at_once_and_a_restart_reads_the_file_anew(
    tmp_path: Path,
) -> None:
    """`registry.store: memory`: one process with everything, and an operator's command beside it."""
    file = tmp_path / "fanfuse.yaml"

    def state(public: bool) -> None:
        file.write_text(
            "registry: {store: memory}\n"
            f"corpora: [{{id: docs, tenant_id: acme, card: {{public: {str(public).lower()}, readers: [staff]}}}}]\n"
        )

    state(public=True)
    with NatsServer(tmp_path / "nats") as server:
        async with running_flow(server.url, tmp_path / "data", config_file=file) as flow:
            await flow.index(TENANT, "docs", library(), FIELDS)
            async with flow.client(TENANT, stranger=True) as stranger:
                first = await stranger.ask(QUESTION, budget_ms=20_000)
                assert first.hits[0].title == "pathlib"
                await flow.index(TENANT, "docs", library("second"), FIELDS)
                second = await stranger.ask(QUESTION, budget_ms=20_000)
                assert second.hits[0].title == "pathlib second"
        state(public=False)
        async with running_flow(server.url, tmp_path / "data", config_file=file) as flow:
            async with flow.client(TENANT, stranger=True) as stranger:
                hidden = await stranger.ask(QUESTION, budget_ms=20_000)
                assert (hidden.status, hidden.hits) == (Status.REJECTED, ())
            async with flow.client(TENANT, "staff") as staff:
                seen = await staff.ask(QUESTION, budget_ms=20_000)
                assert seen.hits[0].title == "pathlib second"
