"""Whom a TLS connection to an engine server trusts, and whether it was trust that failed.

In: a file of certificates, or what a client raised. Out: a context for the client, or a word about the failure. A
server that goes away in the middle of a handshake is no matter of trust.
"""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fanfuse_backend_workers.ports import SearchError
from fanfuse_contracts.enums import FailureKind

NOT_TRUSTED: Final = "no trusted TLS connection: check ca_file and url"

_GONE: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def trusting(ca_file: Path | None) -> ssl.SSLContext:
    """A context that trusts this authority, or the system's; raises CONFIG for a file that holds none."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise SearchError(FailureKind.CONFIG, f"ca_file {ca_file} holds no certificate to trust") from error


def is_mistrust(error: BaseException) -> bool:
    """True if anything behind an exception is a refused certificate or a server that speaks no TLS."""
    return any(isinstance(one, ssl.SSLError) and not isinstance(one, _GONE) for one in _behind(error))


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """The exception, what it was raised from, and the parts of groups among them."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for part in error.exceptions:
                yield from _behind(part)
        error = error.__cause__ or error.__context__
