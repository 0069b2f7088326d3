"""The registry of corpora in the bus itself: the key-value bucket `corpora`, watched by every process.

Key `<tenant>.<corpus>`, value the card. Writes are the bucket's own compare-and-set; a revision is a sequence number
of its stream.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError
from nats.js.errors import APIError, KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue

from fanfuse_contracts import streams
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_runtime.bucket_watch import present_entries
from fanfuse_runtime.bus import Bus
from fanfuse_runtime.corpus_store import (
    ConflictError,
    Registered,
    RegistryError,
    StoreUnavailableError,
    registered_card,
    stored_card,
)
from fanfuse_runtime.known import KnownCards
from fanfuse_runtime.registry import BucketView

_WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})


def _key_of(card: CorpusCard) -> str:
    return streams.corpus_key(card.tenant, card.corpus)


class KvCorpusStore(BucketView[CorpusCard], KnownCards):
    """`CorpusStore` on the bus of this process."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, streams.CORPORA.name, CorpusCard, _key_of)

    async def read(self, tenant: str, corpus: str) -> Registered:
        """The card as it stands now, with the revision that a write must name. Raises `UnreadableCardError`."""
        key = streams.corpus_key(tenant, corpus)
        try:
            with _plainly():
                entry = await (await self._open()).get(key)
        except KeyNotFoundError as error:
            deleted = error.entry.revision if error.entry is not None else None
            return Registered(None, deleted or 0)
        revision = entry.revision or 0
        return Registered(stored_card(tenant, corpus, entry.value or b"", revision), revision)

    async def read_all(self) -> tuple[Registered, ...]:
        """Every card as it stands now, by tenant and id; of one that can't be read, why."""
        with _plainly():
            entries = await present_entries(self._bus, await self._open())
        return tuple(
            registered_card(*_name(entry.key), entry.value or b"", entry.revision or 0)
            for entry in sorted(entries, key=lambda each: _name(each.key))
            if self._is_key(entry.key)
        )

    def objection(self, card: CorpusCard) -> str | None:
        """None: any card can be registered here."""
        del card
        return None

    async def put(self, card: CorpusCard, over: int) -> int:
        """Write a card over a known revision; returns the new one. Raises `ConflictError`, `StoreUnavailableError`."""
        try:
            with _plainly():
                return await (await self._open()).update(_key_of(card), card.to_json(), last=over)
        except KeyWrongLastSequenceError as error:
            raise ConflictError(card.tenant, card.corpus) from error

    async def delete(self, tenant: str, corpus: str, over: int) -> int:
        """Take a card out; returns the revision from which on it is gone.

        Raises `ConflictError`, `StoreUnavailableError`.
        """
        if over == 0:  # nats-py would take it for "whatever stands there"
            raise ConflictError(tenant, corpus)
        try:
            with _plainly():
                bucket = await self._open()
                await bucket.delete(streams.corpus_key(tenant, corpus), last=over)
                return (await bucket.status()).stream_info.state.last_seq
        except APIError as error:
            if error.err_code not in _WRONG_LAST_SEQUENCE:
                raise
            raise ConflictError(tenant, corpus) from error

    async def _open(self) -> KeyValue:
        return await self._bus.js.key_value(self._bucket)


def _name(key: str) -> tuple[str, str]:
    tenant, _, corpus = key.partition(".")
    return tenant, corpus


@contextmanager
def _plainly() -> Iterator[None]:
    """Faults of the bus as errors of the registry; what says something of a key passes."""
    try:
        yield
    except (KeyNotFoundError, KeyWrongLastSequenceError):
        raise
    except MaxPayloadError as error:
        raise RegistryError("the card is larger than the broker's max_payload: shorten its term weights") from error
    except APIError as error:
        if error.err_code in _WRONG_LAST_SEQUENCE:
            raise
        raise StoreUnavailableError(f"the bus refused: {error.description or error}") from error
    except (NatsError, TimeoutError) as error:
        raise StoreUnavailableError(f"the bus does not answer: {str(error) or type(error).__name__}") from error
