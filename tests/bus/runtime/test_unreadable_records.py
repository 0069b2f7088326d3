"""Records that can't be read: an operator sees each named beside everything else, and a command takes it away."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fanfuse_all_in_one.operating import Operator, operator_on
from fanfuse_all_in_one.overview import look
from fanfuse_cli.main import app
from fanfuse_contracts import streams
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.server import NatsServer

CARD = CorpusCard(tenant="acme", corpus="docs")


@pytest.fixture
async def operator(nats_server: NatsServer, tmp_path: Path) -> AsyncIterator[Operator]:
    async with operator_on(nats_server.url, alone=True, data_dir=tmp_path) as connected:
        yield connected


async def write_raw(operator: Operator, bucket: str, key: str, data: bytes) -> None:
    await (await operator.bus.js.key_value(bucket)).put(key, data)


async def test_one_part_that_can_not_be_read_hides_no_other(operator: Operator) -> None:
    await operator.put_card(CARD, 0)
    await write_raw(operator, "backend_state", "graph.main", b"{")
    await write_raw(operator, "corpora", "acme.bad", b'{"tenant": 1}')
    await operator.bus.js.delete_stream(streams.QUALITY.name)
    seen = await look(operator)
    assert seen.cards == (CARD,)
    assert [(each.kind.value, each.state) for each in seen.backends] == [("graph", None)]
    streams_fault, quality, state, card = seen.faults
    assert streams_fault.startswith("streams can't be read: ")
    assert quality.startswith("quality of lanes can't be read: ")
    assert state.startswith("bucket backend_state, key graph.main can't be read (the record: Invalid JSON")
    assert state.endswith("`fanfuse health clear graph/main` writes it anew")
    assert card.startswith("registry of corpora, key acme.bad: corpus bad of tenant acme")
    assert "`fanfuse delete --tenant acme --corpus bad`" in card
    assert not [fault for fault in seen.faults if "\n" in fault or "pydantic" in fault]


def test_the_commands_that_are_named_take_the_records_away(nats_server: NatsServer, tmp_path: Path) -> None:
    async def spoil() -> None:
        async with operator_on(nats_server.url, alone=True, data_dir=tmp_path) as operator:
            await write_raw(operator, "backend_state", "graph.main", b'{"kind": "graph"}')
            await write_raw(operator, "corpora", "acme.bad", b'{"tenant": "globex", "corpus": "bad"}')

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--nats-url", nats_server.url, "--data", str(tmp_path)])

    asyncio.run(spoil())
    seen = run("status", "--json")
    assert seen.exit_code == 1
    assert len(json.loads(seen.stdout)["faults"]) == 2
    assert run("status").stdout.count("\nfault: ") == 2, "each on a line of its own"
    assert "not read: corpus bad of tenant acme" in run("corpus", "list").stderr
    assert "`fanfuse health clear graph/main`" in " ".join(run("health", "list").stdout.split())
    assert run("health", "clear", "graph/main").exit_code == 0
    assert run("delete", "--tenant", "acme", "--corpus", "bad", "--id", "a").exit_code == 2
    assert run("delete", "--tenant", "acme", "--corpus", "bad").exit_code == 0
    seen = run("status", "--json")
    assert (seen.exit_code, json.loads(seen.stdout)["faults"]) == (0, [])
