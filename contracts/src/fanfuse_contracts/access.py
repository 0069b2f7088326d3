"""Who a process is on the bus, how it proves it, and whom it trusts.

In: what settings say. Out: options of nats-py's `connect`. It never tells a secret: nothing of it is printed.
"""

import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fanfuse_contracts.addresses import schemes_of

_ANYBODY: Final = "_INBOX"
_TLS_FILES: Final = ("ca_file", "cert_file", "key_file")
_HOLDS: Final = {
    "nkey": (re.compile(rb"\s*SU[A-Z2-7]{56}\s*"), "the seed of a user's nkey (SU…)"),
    "creds": (
        re.compile(rb"(?s).*BEGIN NATS USER JWT-*\n[\w.-]+\n.*BEGIN USER NKEY SEED-*\nSU[A-Z2-7]{56}\n.*"),
        "the credentials of a user (BEGIN NATS USER JWT …, BEGIN USER NKEY SEED …, lines that end as on Unix)",
    ),
}
"""By field: what its file holds."""


def inbox_prefix(user: str) -> str:
    """Below it a user hears what others answer it, and nobody else does (permissions name it)."""
    return f"{_ANYBODY}_{user}"


class AccessError(ValueError):
    """What is stated can't be used."""

    def __init__(self, message: str, *fields: str) -> None:
        """`fields`: those of `Access` that it is about."""
        super().__init__(message)
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Access:
    """One user of the bus. Nothing stated: a server that asks for nothing."""

    user: str | None = None
    """Its name: that of the password, and of the inbox it hears answers on."""
    password: str | None = field(default=None, repr=False)
    nkey: Path | None = None
    """File with the seed of an nkey."""
    creds: Path | None = None
    """Credentials file (JWT and nkey)."""
    ca_file: Path | None = None
    """PEM file of the authority that signed the server's certificate. None: the system's."""
    cert_file: Path | None = None
    """PEM file of this client's own certificate, where the server asks for one."""
    key_file: Path | None = None

    def __post_init__(self) -> None:
        """Raises `AccessError` for what contradicts itself, and for a file that can't be used."""
        proofs = self._stated("password", "nkey", "creds")
        if len(proofs) > 1:
            raise AccessError("a password, an nkey and a credentials file exclude each other: state one", *proofs)
        if self.password is not None and self.user is None:
            raise AccessError("a password needs the name of its user", "password", "user")
        if (self.cert_file is None) != (self.key_file is None):
            raise AccessError(
                "a client certificate and its key belong together: state both or none", "cert_file", "key_file"
            )
        for name in self._stated("nkey", "creds", *_TLS_FILES):
            _refuse_unusable(name, getattr(self, name))
        try:
            self.tls()
        except OSError as error:
            told = f"the certificates or the key can't be used: {error}"
            raise AccessError(told, *self._stated(*_TLS_FILES)) from error

    def _stated(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) is not None]

    @property
    def inbox(self) -> str:
        """Prefix of the inboxes of this user."""
        return _ANYBODY if self.user is None else inbox_prefix(self.user)

    @property
    def told(self) -> str:
        """Who that is, for a message: without any secret."""
        proof = {"nkey": self.nkey, "credentials": self.creds}
        shown = [f"the {name} of {path}" for name, path in proof.items() if path is not None]
        user = None if self.user is None else f"user {self.user}"
        return " with ".join(part for part in (user, *shown) if part) or "nobody (no user is stated)"

    def tls(self) -> ssl.SSLContext | None:
        """Whom to trust; None: what nats-py does by itself."""
        if self.ca_file is None and self.cert_file is None:
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.cert_file is not None:
            context.load_cert_chain(self.cert_file, self.key_file)
        return context

    def demands_tls(self, addresses: str) -> bool:
        """True if whoever states these addresses, and whom to trust or a certificate of his own, asks for TLS."""
        stated = self.ca_file is not None or self.cert_file is not None
        return stated or not schemes_of(addresses).isdisjoint(("tls", "wss"))

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `nats.connect`."""
        stated = {
            "inbox_prefix": self.inbox,
            "user": self.user if self.password is not None else None,
            "password": self.password,
            "nkeys_seed": str(self.nkey) if self.nkey is not None else None,
            "user_credentials": str(self.creds) if self.creds is not None else None,
            "tls": self.tls(),
        }
        return {name: value for name, value in stated.items() if value is not None}


def _refuse_unusable(name: str, path: Path) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AccessError(f"{path} can't be read: {error.strerror}", name) from error
    form, told = _HOLDS.get(name, (None, ""))
    if form is not None and form.fullmatch(content) is None:
        raise AccessError(f"{path} does not hold {told}", name)
