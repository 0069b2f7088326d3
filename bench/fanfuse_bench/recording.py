"""The messages of one real query, so that the floor carries bytes of the same size.

In: a bus with the whole flow on it. Out: one body per message of a three-lane query.
"""

import asyncio
import base64
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import nats
from nats.aio.msg import Msg

from fanfuse_client import Client
from fanfuse_contracts import subjects
from fanfuse_contracts.query import Principal, SubmittedQuery


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane: where its command goes, its name, and both bodies."""

    command_subject: str
    name: str
    command: bytes
    reply: bytes


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything that is stored for one query."""

    classified: bytes
    planned: bytes
    answer: bytes
    lanes: tuple[Lane, ...]

    def sizes(self) -> str:
        """In words, for the report."""
        lanes = ", ".join(f"{len(lane.command)} → {len(lane.reply)}" for lane in self.lanes)
        return (
            f"classified {len(self.classified)}, planned {len(self.planned)}, commands → replies {lanes}, "
            f"answer {len(self.answer)} bytes"
        )

    def write(self, path: Path) -> None:
        """Store it for another process."""
        path.write_text(json.dumps(asdict(self), default=lambda data: base64.b64encode(data).decode()))


def read(path: Path) -> Recording:
    """The inverse of `Recording.write`."""
    found = json.loads(path.read_text())
    plain = {name: base64.b64decode(found[name]) for name in ("classified", "planned", "answer")}
    lanes = tuple(
        Lane(row["command_subject"], row["name"], base64.b64decode(row["command"]), base64.b64decode(row["reply"]))
        for row in found["lanes"]
    )
    return Recording(lanes=lanes, **plain)


async def record(url: str, tenant: str, query: SubmittedQuery, query_id: str = "recorded") -> Recording:
    """Ask once, under an id that was not used before, and keep what was said."""
    heard: list[Msg] = []

    async def hear(msg: Msg) -> None:
        heard.append(msg)

    listener = await nats.connect(url)
    await listener.subscribe(f"{subjects.ROOT}.>", cb=hear)
    await listener.flush()
    async with Client(url, tenant, principal=Principal(id="bench")) as client:
        await client.ask(query, query_id=query_id)
    await listener.flush()
    await asyncio.sleep(0.2)
    await listener.close()
    return _recording(tenant, query_id, heard)


def _recording(tenant: str, query_id: str, heard: list[Msg]) -> Recording:
    bodies = {msg.subject: msg.data for msg in heard}
    commands = {
        json.loads(msg.data)["lane"]: msg for msg in heard if msg.subject.startswith(f"{subjects.ROOT}.retrieve.")
    }
    lanes = tuple(
        Lane(msg.subject, name, msg.data, bodies[subjects.retrieved(tenant, query_id, name)])
        for name, msg in sorted(commands.items())
    )
    return Recording(
        bodies[subjects.query_classified(tenant, query_id)],
        bodies[subjects.query_planned(tenant, query_id)],
        bodies[subjects.query_fused(tenant, query_id)],
        lanes,
    )
