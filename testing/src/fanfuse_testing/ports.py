"""A port for a server that a test starts.

Out: a number below those that the kernel gives to connections, so that none takes it before the server does.
"""

import random
import socket
from typing import Final

_BELOW_CONNECTIONS: Final = range(20_000, 32_000)


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    while True:
        port = random.SystemRandom().choice(_BELOW_CONNECTIONS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
