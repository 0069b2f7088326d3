"""Addresses of the bus: checked, and as they may be told. In: one or several URLs, separated by commas."""

import re
from typing import Final

_SCHEMES: Final = ("nats", "tls", "ws", "wss")
_LOGIN = re.compile(r"(://)[^\s/@,]+@")


class InvalidAddressError(ValueError):
    """What is stated is no address of a bus."""


def without_login(addresses: str) -> str:
    """`nats://user:password@host` as `nats://***@host`."""
    return _LOGIN.sub(r"\1***@", addresses)


def checked_addresses(addresses: str) -> str:
    """The same; raises `InvalidAddressError` for a scheme that no bus has. Without a scheme it is `nats`."""
    for address in addresses.split(","):
        scheme, stated, _ = address.strip().partition("://")
        if stated and scheme not in _SCHEMES:
            known = ", ".join(f"{one}://" for one in _SCHEMES)
            raise InvalidAddressError(
                f"{without_login(address)} is no address of a bus (NATS_URL): it begins with one of {known}"
            )
    return addresses
