"""What the server refuses to the user of a connection, told to whoever waits for it.

In: errors of a connection, as nats-py's `error_cb` hears them. Out: `RefusedError` in the task that waits. The server
says nothing to the request itself: without this, who may not ask waits until a timeout that says nothing.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

_VIOLATION: Final = re.compile(r'permissions violation for (publish|subscription) to "([^"\s]+)"', re.IGNORECASE)
_UNKNOWN_USER: Final = "authorization violation"
_TOO_MANY: Final = ("maximum account active connections exceeded", "maximum connections exceeded")
_MISTRUSTED: Final = "certificate_verify_failed"
_PLAIN: Final = "offers no tls"
_NO_BUS: Final = "when expecting info"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that a user may not do."""

    publishes: bool
    subject: str
    """In lower case: nats-py keeps no other."""

    def __str__(self) -> str:
        return f'may not {"publish to" if self.publishes else "hear"} "{self.subject}"'


class RefusedError(Exception):
    """The server refused what was waited for."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def refusal_of(error: Exception) -> Refusal | None:
    """What of permissions an error of a connection tells; None for any other error."""
    found = _VIOLATION.search(str(error))
    return None if found is None else Refusal(found[1].lower() == "publish", found[2].lower())


def is_unknown_user(error: str) -> bool:
    """True if the server knows no such user, or wants one and was told none."""
    return _UNKNOWN_USER in error.lower()


def is_final(error: str) -> bool:
    """True if the server said why it hangs up: what comes after it is only what follows from it."""
    return is_unknown_user(error) or _is_too_many(error) or _PLAIN in error.lower()


def reason_of(error: Exception) -> str:
    """What an error of a connection says; nats-py says too little of what is no bus."""
    told = str(error)
    if _NO_BUS in told.lower():
        return "what answers there is no NATS server"
    if isinstance(error, TimeoutError) and not told:
        return "not a word from there: nothing can be reached, or it is no NATS server"
    return told or type(error).__name__


def _is_too_many(error: str) -> bool:
    return any(each in error.lower() for each in _TOO_MANY)


def advice_on(error: str) -> str | None:
    """What to do about a connection that did not come about for this reason; None: no more than about any other."""
    if _is_too_many(error):
        return "close some that are open, or allow more (a tenant's: `fanfuse deploy nats --tenant-connections`)"
    if _MISTRUSTED in error.lower():
        return "state the authority that signed its certificate (ca_file of Access; of `fanfuse`: FANFUSE_NATS_CA_FILE)"
    if _PLAIN in error.lower():
        return (
            "turn TLS on there, or ask for none (a tls:// or wss:// address does, and ca_file or cert_file of Access; "
            "of `fanfuse`: FANFUSE_NATS_CA_FILE, FANFUSE_NATS_CERT_FILE)"
        )
    return None


@dataclass(eq=False, slots=True)
class _Scope:
    """A block of one task. No subjects: whatever is refused ends it."""

    subjects: frozenset[str]
    ending: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    refusal: Refusal | None = None

    def covers(self, refusal: Refusal) -> bool:
        return self.refusal is None and (not self.subjects or refusal.subject in self.subjects)

    def end(self, refusal: Refusal) -> None:
        """With the first refusal; a second one finds it ending."""
        if self.refusal is None:
            self.refusal = refusal
            self.ending.reschedule(asyncio.get_running_loop().time())


class Refusals:
    """Those of one connection; bounded by the blocks that run at a time."""

    def __init__(self, inbox: str) -> None:
        """`inbox`: the prefix below which this connection hears replies. Without one of them it hears none at all."""
        self._inbox = f"{inbox}.".lower()
        self._deaf: Refusal | None = None
        self._scopes: dict[_Scope, None] = {}
        """In the order they began."""

    def hear(self, error: Exception) -> Refusal | None:
        """Take in an error of the connection: the newest block that it concerns ends with it; all of them, where the
        connection may not hear replies."""
        refusal = refusal_of(error)
        if refusal is not None and refusal.subject.startswith(self._inbox):
            self._deaf = refusal
            for scope in self._scopes:
                scope.end(refusal)
        elif refusal is not None:
            concerned = next((scope for scope in reversed(self._scopes) if scope.covers(refusal)), None)
            if concerned is not None:
                concerned.end(refusal)
        return refusal

    @property
    def hears_replies(self) -> bool:
        """False where the server knows the user by another name than that of its inboxes."""
        return self._deaf is None

    def forget(self) -> None:
        """The connection is a new one: it may have other rights."""
        self._deaf = None

    @asynccontextmanager
    async def raised_as(self, told: Callable[[Refusal], Exception], *subjects: str) -> AsyncIterator[None]:
        """The same as `raised`, with the error that `told` makes of the refusal."""
        try:
            async with self.raised(*subjects):
                yield
        except RefusedError as error:
            raise told(error.refusal) from error

    @asynccontextmanager
    async def raised(self, *subjects: str) -> AsyncIterator[None]:
        """End the block with a `RefusedError` as soon as one of `subjects` is refused; without any, whatever it is."""
        if self._deaf is not None:
            raise RefusedError(self._deaf)
        scope = _Scope(frozenset(map(str.lower, subjects)))
        self._scopes[scope] = None
        try:
            async with scope.ending:
                yield
        except TimeoutError:
            if scope.refusal is None:
                raise
        finally:
            del self._scopes[scope]
        # Also where the block was over before it could be ended: what it waited for came together with the refusal.
        if scope.refusal is not None:
            raise RefusedError(scope.refusal)
