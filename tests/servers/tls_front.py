"""TLS before a server that has none: what it is sent is passed on as it is, and what it answers comes back.

In: certificates and the server's address. Out: a port. It ends connections with the block that opened it.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit


@asynccontextmanager
async def tls_front(url: str, certificates: Path) -> AsyncIterator[str]:
    """Host and port of a front with `tls.crt` and `tls.key` of a folder, before the server at `url`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    behind = urlsplit(url)

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(behind.hostname, behind.port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, server_writer), _copy(server_reader, writer))

    server = await asyncio.start_server(passed_on, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while some := await reader.read(65_536):
            writer.write(some)
            await writer.drain()
    writer.close()
