"""The behaviour of every engine server, written once: an adapter's test class inherits `ServerSuite`.

In: a way to connect. Out: tests of the whole port. Each test has a tenant of its own, so one server serves a whole
session; what a test made is deleted at its end.
"""

from fanfuse_testing.server_case import Connect
from fanfuse_testing.server_contents import ContentCases
from fanfuse_testing.server_searching import SearchingCases

__all__ = ["Connect", "ServerSuite"]


class ServerSuite(SearchingCases, ContentCases):
    """Inherit, set `kind` and override the fixture `connect`."""
