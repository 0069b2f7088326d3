"""Asks a query on the bus and waits for its one answer.

`async with Client(url, tenant) as client: answer = await client.ask("What is RAG?")`.
"""

from fanfuse_client.client import Client
from fanfuse_client.errors import (
    AnswerTimeout,
    ClientError,
    InvalidQuery,
    NotAllowed,
    NotConnected,
    Overloaded,
    TooLarge,
    Unavailable,
)

__all__ = [
    "AnswerTimeout",
    "Client",
    "ClientError",
    "InvalidQuery",
    "NotAllowed",
    "NotConnected",
    "Overloaded",
    "TooLarge",
    "Unavailable",
]
