"""Typed failures of the bus, each saying whether trying again can help."""

from collections.abc import Iterator
from contextlib import contextmanager

from nats.errors import Error as NatsError

from fanfuse_contracts.refusals import reason_of


class BusError(Exception):
    """Something on the bus did not work."""

    retryable = True


class PublishRefusedError(BusError):
    """The stream said that it did not store a message, or there is none: it is full, or the broker just starts."""


class UnacknowledgedError(BusError):
    """No word came from the stream: the message may be stored or not. Sent again under its message id, it is stored
    once; so a handler that meets this has its message delivered again instead of refusing the query."""


class TooLargeError(BusError):
    """A message is larger than the broker's max_payload; sending it again cannot help."""

    retryable = False


class NoResponderError(BusError):
    """Nobody answers a request subject."""


class RequestTimeoutError(BusError):
    """A request got no answer in time."""


class StartError(BusError):
    """The bus did not give a process in time what it needs to start; the message is one line."""


@contextmanager
def needed_to_start(what: str) -> Iterator[None]:
    """Errors of the bus in the block as a `StartError` that says what the process waited for."""
    try:
        yield
    except (NatsError, TimeoutError, BusError) as error:
        told = reason_of(error) if str(error) else "the bus does not answer in time"
        raise StartError(f"{what} did not come from the bus: {told}. Start the process again") from error


class RetryError(Exception):
    """Raised by a handler to have its message delivered again after a delay."""
