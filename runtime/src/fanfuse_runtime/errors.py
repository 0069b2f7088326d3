"""Typed failures of the bus, each saying whether trying again can help."""


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


class RetryError(Exception):
    """Raised by a handler to have its message delivered again after a delay."""
