"""TLS of a nats-py client: whoever asks for it has it before anything of his is sent, at every (re)connection.

In: a client that has not connected yet. Out: nothing; its connections are checked from then on. nats-py alone takes TLS
where the server offers it, and where it offers none sends password and queries in plain text.
"""

from typing import Any


class NoTlsError(ConnectionError):
    """The server offers no TLS to who asked for it. An error of one connection: the next server may offer it."""

    def __init__(self) -> None:
        super().__init__("the server offers no TLS, which was asked for: nothing was sent to it")


def secure(client: Any, *, demanded: bool) -> None:
    """Call before `connect`. `demanded`: connections without TLS end with `NoTlsError` instead of a login."""
    connect_command, close = client._connect_command, client._close

    def checked_connect_command() -> bytes:
        # The server has told what it offers, TLS is begun if it is ever to be, and no login was sent yet.
        _finish(client)
        if demanded and not _is_under_tls(client):
            client._transport.close()
            raise NoTlsError
        command: bytes = connect_command()
        return command

    async def checked_close(*arguments: Any) -> None:
        # While it reconnects, nats-py sends what it still holds to whatever it has just reached, before any login.
        if demanded and not client.is_connected:
            client._pending, client._pending_data_size = [], 0
        await close(*arguments)

    client._connect_command, client._close = checked_connect_command, checked_close


def _is_under_tls(client: Any) -> bool:
    # nats-py keeps the plain writer beside the one of TLS. A transport can't be asked: once closed it raises.
    transport = client._transport
    writer = getattr(transport, "_io_writer", None)
    if writer is None:  # a WebSocket, or nothing yet
        return bool(getattr(transport, "_using_tls", False))
    return writer is not transport._bare_io_writer


def _finish(client: Any) -> None:
    """Tell the stream's protocol of the transport under TLS.

    nats-py upgrades to TLS with `loop.start_tls`, which leaves that to the caller. A protocol that does not know it is
    under TLS asks, at the end of every connection, to keep it half open, which asyncio answers with a warning; and it
    never pauses a server that sends faster than it is read.
    """
    writer = getattr(client._transport, "_io_writer", None)
    if writer is not None and _is_under_tls(client):
        writer.transport.get_protocol().connection_made(writer.transport)
