"""Typed failures of the bus, each saying whether trying again can help."""


class BusError(Exception):
    """Something on the bus did not work."""

    retryable = True


class PublishRefusedError(BusError):
    """The stream did not store a message: it is full, has no leader, or the broker is away."""


class TooLargeError(BusError):
    """A message is larger than the broker's max_payload; sending it again cannot help."""

    retryable = False


class NoResponderError(BusError):
    """Nobody answers a request subject."""


class RequestTimeoutError(BusError):
    """A request got no answer in time."""


class RetryError(Exception):
    """Raised by a handler to have its message delivered again after a delay."""
