"""What can go wrong before there is an answer. Each error says what to do, and whether trying again can help.

A query that was accepted and then refused is no error here: it has an answer with a `rejection`.
"""


class ClientError(Exception):
    """No answer, for the reason in the message."""

    retryable = False


class InvalidQuery(ClientError):
    """The query is not what the contract accepts; nothing was sent."""


class TooLarge(ClientError):
    """The text or the whole query is over the limit; nothing was sent."""


class Overloaded(ClientError):
    """The bus refused the query: its stream is full or has no leader. Nothing was accepted; try again later."""

    retryable = True


class Unavailable(ClientError):
    """No service answers this request."""

    retryable = True


class NotConnected(ClientError):
    """There is no connection to the bus."""

    retryable = True


class NotAllowed(ClientError):
    """The bus refuses this to the user of the connection: the key is of another tenant, or the user of another name."""


class AnswerTimeout(ClientError):
    """The query was accepted, but no answer came within its budget and the grace. Ask again with the same query id."""

    retryable = True

    def __init__(self, message: str, query_id: str) -> None:
        super().__init__(message)
        self.query_id = query_id
