"""The connection of an operator's command: who it is on the bus, and at once what the bus refuses to it.

In: the address, the access that is stated, the user that such a command runs as. Out: a nats-py client, or a typed
error of one line that names both users and the variables that state one. It waits for no service.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError

from fanfuse_all_in_one.databus import BusUnavailableError
from fanfuse_all_in_one.failures import NotAllowedError
from fanfuse_contracts import permissions
from fanfuse_contracts.access import Access
from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.refusals import Refusal, Refusals, advice_on, is_final, is_unknown_user, reason_of
from fanfuse_contracts.tls import secure
from fanfuse_runtime.masking import mask

_CONNECT_TIMEOUT_S: Final = 5.0


class OperatorConnection:
    """One connection of one command."""

    def __init__(self, url: str, access: Access, runs_as: str = permissions.OPERATOR) -> None:
        """`runs_as`: the user that may do what the command does, where the bus knows users."""
        self.client = Client()
        secure(self.client, demanded=access.demands_tls(url))
        self.url = url
        self._access = access
        self._runs_as = runs_as
        self._refusals = Refusals(access.inbox)
        self._problem = ""

    @property
    def problem(self) -> str:
        """What stood in the way last, its secrets masked; empty if nothing did."""
        return mask(self._problem)

    async def open(self, within_s: float | None = _CONNECT_TIMEOUT_S) -> None:
        """Connect, and again after each loss; what stands in the way is told instead of logged. `within_s` None: the
        caller ends it.

        Raises `BusUnavailableError`, and `NotAllowedError` where the bus knows no such user.
        """
        connecting = self.client.connect(
            self.url.split(","), name="fanfuse-operator", max_reconnect_attempts=-1, error_cb=self._note,
            reconnected_cb=self._begin_anew, **self._access.options(),
        )  # fmt: skip
        try:
            await asyncio.wait_for(connecting, within_s)
        except (NatsError, OSError, TimeoutError) as error:
            await self.client.close()
            self.refuse_unknown(error)
            raise self.unavailable(error) from error

    def refuse_unknown(self, error: Exception) -> None:
        """Raise `NotAllowedError` where the bus knows no such user."""
        if is_unknown_user(self._problem or str(error)):
            raise NotAllowedError(
                f"the bus at {without_login(self.url)} does not let this command in, as {self._access.told}: "
                f"{self._state_the_user}"
            ) from error

    def unavailable(self, error: Exception) -> BusUnavailableError:
        """That there is no bus to work with, and why as far as it was told."""
        why = self.problem or mask(reason_of(error))
        advice = advice_on(why) or "start one with `fanfuse up`, or correct the URL"
        return BusUnavailableError(f"no bus at {without_login(self.url)}: {why}; {advice}")

    def allowed(self) -> AbstractAsyncContextManager[None]:
        """End the block with `NotAllowedError` as soon as the bus refuses anything to this user."""
        return self._refusals.raised_as(self._not_allowed)

    def _not_allowed(self, refusal: Refusal) -> NotAllowedError:
        told = f"{without_login(self.url)}: this command is {self._access.told} there, which {refusal}"
        return NotAllowedError(f"{told}: {self._advice()}")

    def _advice(self) -> str:
        if not self._refusals.hears_replies:
            return f"its key is that of another user, or FANFUSE_NATS_USER is not its name; {self._state_the_user}"
        if self._access.user == self._runs_as:
            return (
                "its permissions there are those of another version, or something is missing there: make the users "
                "again with `fanfuse deploy nats`, and what is missing with `fanfuse deploy setup`"
            )
        return f"user {self._runs_as} may; {self._state_the_user}"

    @property
    def _state_the_user(self) -> str:
        return (
            f"set FANFUSE_NATS_USER={self._runs_as} and FANFUSE_NATS_NKEY to the file with its key "
            "(or FANFUSE_NATS_CREDS, FANFUSE_NATS_PASSWORD)"
        )

    async def _note(self, error: Exception) -> None:
        if not is_final(self._problem):  # the server hangs up after it, which is only what follows from it
            self._problem = reason_of(error)
        self._refusals.hear(error)

    async def _begin_anew(self) -> None:
        self._problem = ""
        self._refusals.forget()
