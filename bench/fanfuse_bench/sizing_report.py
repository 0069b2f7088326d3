"""How many replicas a load needs, from what one query costs each stage. Pure: measured figures in, Markdown out.

Little's law: what is in flight is the rate times the time that one message is held. A stage needs as many replicas as
that takes slots, or as its CPU takes cores, whichever is more.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from fanfuse_bench.figures import table
from fanfuse_contracts import limits, streams
from fanfuse_contracts.enums import Stage

_MB: Final = 1024 * 1024
FILE_STORE: Final = 10 * 1024 * _MB
"""`max_file_store` of deploy/k8s/base/nats/nats.conf."""
RATES: Final = (10, 100, 1_000)
BUSY: Final = 0.6
"""Share of a core that a replica may use on average: the rest is for bursts, and for a replica that is away."""
LEAST: Final = 2
"""Replicas of everything, so that one may go."""
IN_FLIGHT: Final = {
    Stage.CLASSIFIER.value: limits.CLASSIFIER_IN_FLIGHT,
    Stage.CORPUS_ROUTER.value: limits.ROUTER_IN_FLIGHT,
    Stage.FUSER.value: limits.FUSER_IN_FLIGHT,
    Stage.BACKEND_WORKERS.value: limits.WORKER_IN_FLIGHT,
}
"""What one replica handles at a time; health handles no query."""


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage. CPU in milliseconds; `service_ms`: wall time of one message, mean; memory after the load."""

    cpu_ms_per_query: float
    cpu_ms_per_s_idle: float
    service_ms: float
    rss_mb: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: what a query of so many lanes costs. Bytes and messages are those published, by stream."""

    queries: int
    complete: int
    lanes: int
    rate: float
    stages: Mapping[str, StageCost]
    broker: StageCost
    bytes_per_query: Mapping[str, float]
    messages_per_query: Mapping[str, float]
    answers_stored_bytes: float
    """Of one answer in ANSWERS, with the server's own overhead."""

    def to_json(self) -> str:
        """For `--out`."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Measured":
        """For `--from`."""
        fields = json.loads(text)
        fields["stages"] = {name: StageCost(**cost) for name, cost in fields["stages"].items()}
        fields["broker"] = StageCost(**fields["broker"])
        return cls(**fields)


def report(measured: Measured, engine_ms: float) -> str:
    """Every part."""
    return "\n\n".join(parts(measured, engine_ms).values())


def parts(measured: Measured, engine_ms: float) -> dict[str, str]:
    """What was measured, replicas, streams, and what breaks first."""
    title = (
        f"{measured.complete:,} of {measured.queries:,} queries complete, {measured.lanes} lanes each, "
        f"{measured.rate:g} queries/s, one process of each service."
    )
    return {
        "costs": f"{title}\n\n{cost_table(measured)}",
        "replicas": replica_table(measured, engine_ms),
        "streams": stream_table(measured),
        "first": first_table(measured, engine_ms),
    }


def fill(page: str, measured: Measured, engine_ms: float) -> str:
    """A page with each part between its two marks: `<!-- sizing: costs -->` and `<!-- end -->`."""
    for name, text in parts(measured, engine_ms).items():
        head, mark, rest = page.partition(f"<!-- sizing: {name} -->\n")
        if not mark:
            raise ValueError(f"the page has no place for {name}")
        page = f"{head}{mark}\n{text}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    return page


def cost_table(measured: Measured) -> str:
    """What was measured of each process."""
    header = ("stage", "CPU ms/query", "CPU ms/s at rest", "service time ms", "memory MB", "queries/s per core")
    rows = [
        (
            name,
            cost.cpu_ms_per_query,
            cost.cpu_ms_per_s_idle,
            cost.service_ms or "",
            f"{cost.rss_mb:.0f}",
            _per_core(cost),
        )
        for name, cost in {**measured.stages, "nats-server": measured.broker}.items()
    ]
    return table(header, rows)


def _per_core(cost: StageCost) -> str:
    return f"{1e3 / cost.cpu_ms_per_query:.0f}" if cost.cpu_ms_per_query > 0.05 else "any"


@dataclass(frozen=True, slots=True)
class Need:
    """Replicas of one stage. `in_flight`: messages at a time in the whole stage, by Little's law (rate times time)."""

    in_flight: float
    by_cpu: int
    by_slots: int

    @property
    def replicas(self) -> int:
        """The larger one."""
        return max(LEAST, self.by_cpu, self.by_slots)


def need(measured: Measured, stage: str, rate: float, engine_ms: float) -> Need:
    """What a stage needs at a rate. A worker holds a lane as long as its engine takes, a fuser a plan as long as the
    slowest lane; for the workers this is one pool, of one lane per query."""
    cost = measured.stages[stage]
    lanes = measured.lanes if stage == Stage.BACKEND_WORKERS.value else 1
    held_ms = engine_ms if stage in (Stage.BACKEND_WORKERS.value, Stage.FUSER.value) else cost.service_ms
    in_flight = rate * held_ms / 1e3
    slots = IN_FLIGHT.get(stage, math.inf)
    cores = rate * cost.cpu_ms_per_query / lanes / 1e3
    return Need(in_flight, math.ceil(cores / BUSY), math.ceil(in_flight / (slots * BUSY)))


def replica_table(measured: Measured, engine_ms: float) -> str:
    """Replicas by rate; a row of one pool of workers, for each kind of lane."""
    header = ("replicas", *(f"{rate:,} queries/s (in flight)" for rate in RATES))
    rows = [(_row_name(stage), *_cells(measured, stage, engine_ms)) for stage in measured.stages]
    cores = [rate * measured.broker.cpu_ms_per_query / 1e3 for rate in RATES]
    rows.append(("nats-server: cores of one server", *(f"{one:.2f}" for one in cores)))
    return table(header, rows)


def _row_name(stage: str) -> str:
    return "each pool of workers" if stage == Stage.BACKEND_WORKERS.value else stage


def _cells(measured: Measured, stage: str, engine_ms: float) -> Iterable[str]:
    for rate in RATES:
        found = need(measured, stage, rate, engine_ms)
        yield f"{found.replicas} ({found.in_flight:.1f})" if stage in IN_FLIGHT else str(LEAST)


def first_table(measured: Measured, engine_ms: float) -> str:
    """What reaches its limit at which rate."""
    day_s = _KEPT_S[streams.ANSWERS.name] or 0.0
    rows = [
        (
            f"{FILE_STORE / measured.answers_stored_bytes / day_s:.0f} queries/s, all day",
            "ANSWERS fills the store of 10 GB: its age alone bounds it",
            "`max_file_store` in nats.conf and the volume claim, by the table of streams",
        ),
        (
            f"{BUSY * limits.WORKER_IN_FLIGHT / engine_ms * 1e3:.0f} lanes/s per worker",
            f"its slots, at {engine_ms:g} ms a search",
            "KEDA adds workers; a larger `--max`; a pool of its own for the hot corpus",
        ),
        *(
            (f"{BUSY * 1e3 / cost.cpu_ms_per_query:.0f} queries/s per core", f"CPU of {name}", what)
            for name, cost, what in _of_cpu(measured)
        ),
    ]
    return table(("at", "what", "do"), rows)


def _of_cpu(measured: Measured) -> Iterable[tuple[str, StageCost, str]]:
    for stage in (Stage.FUSER, Stage.CORPUS_ROUTER, Stage.CLASSIFIER):
        yield stage.value, measured.stages[stage.value], "KEDA adds replicas by the lag of its consumer"
    what = "more cores, faster disks, leaders of streams on different servers; then split, as below"
    yield "the nats-server that leads every stream", measured.broker, what


_KEPT_S: Final = {
    # A work queue holds what is not handled yet; its age only bounds what nobody can be given.
    stream.name: None if stream.retention is streams.Retention.WORK_QUEUE else stream.max_age_s
    for stream in streams.STREAMS
}
_ROOM: Final = {stream.name: stream.max_bytes for stream in streams.STREAMS}


def stream_table(measured: Measured) -> str:
    """Bytes of each stream per query, and what it holds at each rate: all of its age, or its limit if that is less."""
    header = ("stream", "messages/query", "bytes/query", "kept", *(f"MB at {rate:,}/s" for rate in RATES))
    rows = [
        (name, measured.messages_per_query[name], f"{per:,.0f}", *_held(name, _stored(measured, name)))
        for name, per in measured.bytes_per_query.items()
    ]
    return table(header, rows)


def _stored(measured: Measured, name: str) -> float:
    return measured.answers_stored_bytes if name == streams.ANSWERS.name else measured.bytes_per_query[name]


def _held(name: str, per_query: float) -> Iterable[str]:
    age_s, room = _KEPT_S.get(name), _ROOM.get(name)
    if age_s is None:
        yield from ("until handled" if name in _KEPT_S else "not stored", *("" for _ in RATES))
        return
    yield f"{age_s / 3600:g} h" if age_s >= 3600 else f"{age_s / 60:g} min"
    for rate in RATES:
        wanted = rate * per_query * age_s
        yield (
            f"{wanted / _MB:,.0f}"
            if room is None or wanted <= room
            else f"{room / _MB:,.0f} (its limit: {room / per_query / rate:,.0f} s)"
        )
