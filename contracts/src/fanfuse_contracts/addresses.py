"""Addresses of the bus: checked, and as they may be told. In: one or several URLs, separated by commas."""

import re
from typing import Final
from urllib.parse import urlsplit

_PLAIN: Final = "nats"
_SCHEMES: Final = (_PLAIN, "tls", "ws", "wss")
_LOGIN = re.compile(r"(://)[^\s/@,]+@")


class InvalidAddressError(ValueError):
    """What is stated is no address of a bus."""


def without_login(addresses: str) -> str:
    """`nats://user:password@host` as `nats://***@host`."""
    return _LOGIN.sub(r"\1***@", addresses)


def checked_addresses(addresses: str) -> str:
    """The same; raises `InvalidAddressError` for what no bus can have. Without a scheme it is `nats`."""
    for address in addresses.split(","):
        fault = _fault(address.strip())
        if fault is not None:
            raise InvalidAddressError(f"{without_login(address)} is no address of a bus (NATS_URL): {fault}")
    return addresses


def schemes_of(addresses: str) -> set[str]:
    """Of all these addresses."""
    return {_parts(address.strip())[0] for address in addresses.split(",")}


def _parts(address: str) -> tuple[str, str]:
    scheme, stated, rest = address.partition("://")
    return (scheme, rest) if stated else (_PLAIN, address)


def _fault(address: str) -> str | None:
    scheme, rest = _parts(address)
    if scheme not in _SCHEMES:
        return f"it begins with one of {', '.join(f'{one}://' for one in _SCHEMES)}"
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port
    except ValueError:
        return "a port is a number from 1 to 65535, an IPv6 address stands in brackets"
    if not parts.hostname:
        return "it names no host"
    return "a port is a number from 1 to 65535" if port == 0 else None
