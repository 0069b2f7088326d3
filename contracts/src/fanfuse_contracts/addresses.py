"""Addresses as they may be told. In: one or several URLs. Out: the same without a user and a password."""

import re

_LOGIN = re.compile(r"(://)[^\s/@,]+@")


def without_login(addresses: str) -> str:
    """`nats://user:password@host` as `nats://***@host`."""
    return _LOGIN.sub(r"\1***@", addresses)
