"""One message of every channel, as a real flow sends it: the source of tests/contract/goldens/messages.

`python -m tests.flow.capture_messages` from the root of the checkout writes the goldens anew. Do that only when a new
version of the contract is meant to be replayed from then on.
"""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any, Final

from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError

from fanfuse_all_in_one.marking import probe_backend
from fanfuse_contracts import limits, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.filters import Leaf, Op
from fanfuse_contracts.flow import CHANNELS, Channel
from fanfuse_contracts.query import Principal, QueryVector, SubmittedQuery
from fanfuse_health.ports import BackendKey
from fanfuse_runtime.server import NatsServer
from fanfuse_testing.flow import Flow, eventually, running_flow
from tests.flow.airships import FIELDS, QUESTION, SEEDS, library

GOLDENS: Final = Path(__file__).resolve().parents[1] / "contract" / "goldens" / "messages"
TENANT: Final = "acme"
QUERY: Final = SubmittedQuery(
    text=f'{QUESTION} See "PEP-428".',
    corpora=("docs",),
    top_k=2,
    filter=Leaf(field="topic", op=Op.IN, value=("files", "formats")),
    graph_seeds=SEEDS,
    expansion_terms=("open",),
    vector=QueryVector(model="another-model", values=(0.5, -0.5)),
    principal=Principal(id="tester", roles=frozenset({"clerk"})),
    budget_ms=20_000,
)
Captured = dict[str, tuple[str, bytes]]
"""Name of a golden → subject and body."""


def channel_of(subject: str) -> Channel | None:
    """The channel whose pattern a subject matches."""
    return next((channel for channel in CHANNELS if _matches(channel.subject, subject)), None)


def _matches(pattern: str, subject: str) -> bool:
    wanted, found = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, found = wanted[:-1], found[: len(wanted) - 1]
    return len(wanted) == len(found) and all(w in ("*", f) for w, f in zip(wanted, found, strict=True))


async def capture(flow: Flow) -> Captured:
    """The longest message of every channel, with the replies to requests as `<channel>.reply`."""
    captured: Captured = {}

    async def hear(msg: Msg) -> None:
        channel = channel_of(msg.subject)
        if channel is None:
            raise AssertionError(f"{msg.subject} is no subject of the contract")
        if len(msg.data) >= len(captured.get(channel.name, ("", b""))[1]):
            captured[channel.name] = (msg.subject, msg.data)

    bus = flow.operator.bus
    async with bus.subscribed(f"{subjects.ROOT}.>", hear):
        await bus.nc.flush()
        await _ask(flow)
        await bus.nc.publish(subjects.query_submitted(TENANT, "bad"), b"{not json")
        await eventually(lambda: captured.keys() >= {channel.name for channel in CHANNELS})
    for channel in CHANNELS:
        if channel.reply is not None:
            subject, body = captured[channel.name]
            captured[f"{channel.name}.reply"] = (subject, await _reply(bus.nc, subject, body))
    return captured


async def _ask(flow: Flow) -> None:
    async with flow.client(TENANT) as client:
        # A worker tells of its successes now and then.
        for number in range(limits.SUCCESS_SAMPLE_EVERY + 1):
            await client.ask(QUERY, query_id=f"q{number}")
        await client.decide(QUERY)
        await client.cancel("q0")
    await probe_backend(flow.operator, BackendKey(Kind.VECTOR, "main"), by="tester")


async def _reply(nc: NatsClient, subject: str, body: bytes) -> bytes:
    try:
        return (await nc.request(subject, body, timeout=10)).data
    except NatsTimeoutError as error:
        raise AssertionError(f"nobody answered {subject}") from error


def models() -> dict[str, Any]:
    """Model of every golden; None for a message without a body."""
    messages = {channel.name: channel.message for channel in CHANNELS}
    return messages | {f"{channel.name}.reply": channel.reply for channel in CHANNELS if channel.reply is not None}


async def _main() -> None:
    with tempfile.TemporaryDirectory() as folder, NatsServer(Path(folder) / "nats") as server:
        async with running_flow(server.url, Path(folder) / "data") as flow:
            await flow.index(TENANT, "docs", library(), FIELDS)
            for name, (subject, body) in (await capture(flow)).items():
                golden = {"subject": subject, "body": json.loads(body) if body else None}
                text = json.dumps(golden, indent=1, ensure_ascii=False)
                (GOLDENS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_main())
