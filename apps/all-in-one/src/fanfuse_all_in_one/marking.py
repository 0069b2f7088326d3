"""What an operator says of backends, and how they stand: reads and writes the `backend_state` bucket.

In: a backend, a word and a reason. Out: the state as it is stored now. A write is compare-and-set and carried out by
`fanfuse_health`'s own rules; another operator's word is never overwritten unseen.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from fanfuse_all_in_one.failures import ConflictError, OperatorError
from fanfuse_all_in_one.operating import Operator
from fanfuse_contracts import flow, streams, subjects
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.health import BackendState, ProbeReply, ProbeRequest
from fanfuse_contracts.tokens import check_token
from fanfuse_health.adapters.states import BucketStateStore
from fanfuse_health.domain.marks import clear, mark
from fanfuse_health.domain.standing import Standing, Stored, adopt
from fanfuse_health.domain.transitions import Transition
from fanfuse_health.ports import BackendKey
from fanfuse_runtime.errors import BusError

MAX_SAID_CHARS: Final = 500
_TRIES: Final = 5
_PROBED_WITHIN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class BackendStanding:
    """A backend of the deployment. `state` None: it never had trouble. `age_s`: of the state, in broker time."""

    kind: Kind
    backend: str
    state: BackendState | None = None
    age_s: float = 0.0
    unreadable: str = ""
    """Why this version makes nothing of its record: the backend counts as healthy then."""

    @property
    def left_s(self) -> float | None:
        """Seconds until it is probed; None if no such moment is set."""
        if self.state is None or self.state.until_s is None:
            return None
        return max(0.0, self.state.until_s - self.age_s)


class _Say(Protocol):
    def __call__(self, standing: Standing) -> Transition: ...


def parse_backend(text: str) -> BackendKey:
    """`kind/name` as a key; raises `OperatorError`, `InvalidTokenError`."""
    kind, slash, name = text.partition("/")
    if not slash or kind not in set(Kind):
        raise OperatorError(f"{text!r} is no backend: write <kind>/<name> with a kind of {', '.join(Kind)}")
    return BackendKey(Kind(kind), check_token(name, "backend"))


async def backend_standings(operator: Operator) -> tuple[BackendStanding, ...]:
    """Every backend that a corpus is wired with or that ever had a state, by kind and name."""
    unreadable: dict[str, str] = {}
    with _plainly():
        stored = await BucketStateStore(operator.bus, unreadable.__setitem__).read_all()
    wired = {BackendKey(wiring.kind, wiring.backend) for card in await operator.cards() for wiring in card.backends}
    return tuple(
        _standing(key, stored.get(key), unreadable.get(streams.backend_key(key.kind, key.backend), ""))
        for key in sorted(wired | stored.keys())
    )


def _standing(key: BackendKey, stored: Stored | None, unreadable: str) -> BackendStanding:
    if stored is None or stored.record is None:
        return BackendStanding(*key, unreadable=unreadable)
    return BackendStanding(*key, stored.record, stored.age_s)


async def mark_backend(
    operator: Operator, key: BackendKey, *, by: str, reason: str, for_s: float | None
) -> BackendState:
    """Nobody asks this backend for `for_s` seconds (None: until it is cleared). Raises `OperatorError`."""
    _check_said(by=by, reason=reason)
    await _refuse_unknown(operator, key)
    return await _write(operator, key, lambda standing: mark(standing, by=by, reason=reason, for_s=for_s))


async def clear_backend(operator: Operator, key: BackendKey, *, by: str, reason: str) -> BackendState:
    """The backend counts as healthy from now on. Raises `OperatorError`."""
    _check_said(by=by, reason=reason)
    await _refuse_unknown(operator, key)
    return await _write(operator, key, lambda standing: clear(standing, by=by, reason=reason))


def _check_said(**said: str) -> None:
    """It is shown to other people: no control character of it may reach their terminals."""
    for name, text in said.items():
        if not text.strip() or not text.isprintable() or len(text) > MAX_SAID_CHARS:
            raise OperatorError(f"{name} is not valid: write one line of 1 to {MAX_SAID_CHARS} printable characters")


async def _refuse_unknown(operator: Operator, key: BackendKey) -> None:
    known = [f"{each.kind.value}/{each.backend}" for each in await backend_standings(operator)]
    if f"{key.kind.value}/{key.backend}" not in known:
        raise OperatorError(
            f"no corpus is wired with backend {key.kind.value}/{key.backend}: known are {', '.join(known) or 'none'}"
        )


async def _write(operator: Operator, key: BackendKey, say: _Say) -> BackendState:
    store = BucketStateStore(operator.bus, lambda _key, _why: None)  # what is written takes its place
    said_before: BackendState | None = None
    for attempt in range(_TRIES):
        with _plainly():
            standing = await _read(store, key)
        said = standing.record if standing.record is not None and standing.record.set_by else None
        if attempt and said is not None and said != said_before:
            raise ConflictError(f"{said.set_by} changed it meanwhile ({said.state.value}: {said.reason}): run again")
        said_before = said
        with _plainly():
            written = await store.write(say(standing))
        if written is not None and written.record is not None:
            return written.record
    raise ConflictError(f"the state of {key.kind.value}/{key.backend} changes too fast: run again")


async def _read(store: BucketStateStore, key: BackendKey) -> Standing:
    stored = await store.read(key)
    return Standing(*key) if stored is None else adopt(Standing(*key), stored, time.monotonic())


async def probe_backend(operator: Operator, key: BackendKey, *, by: str) -> ProbeReply:
    """Have health probe a degraded backend now. Raises `OperatorError` where no health service answers."""
    _check_said(by=by)
    await _refuse_unknown(operator, key)
    subject = subjects.backend_probe(key.kind, key.backend)
    with _plainly():
        reply = await operator.bus.request(flow.PROBE, subject, ProbeRequest(by=by), _PROBED_WITHIN_S)
    return ProbeReply.from_json(reply)


@contextmanager
def _plainly() -> Iterator[None]:
    try:
        yield
    except BusError as error:
        raise OperatorError(str(error)) from error
