"""Takes secrets out of whatever is told: log lines, reasons, dead letters, messages on a terminal.

In: text, or data with texts in it. Out: the same with `***` for every secret. Known is what the configuration and the
environment hold as secrets, wherever it turns up; recognised is what looks like one: a user in a URL, the value of
`password=`, bearer and basic credentials, JSON web tokens, nkey seeds, private keys.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote, urlsplit

from pydantic import BaseModel, SecretStr

MASK: Final = "***"
_SHORTEST: Final = 6
"""A shorter value is a word too often to be masked wherever it stands."""
_WORD: Final = 40
"""A text of so many characters is remembered with what is left of it."""
_SECRET_NAME: Final = re.compile(
    r"(?i)(^|[_.-])(pass(word|wd|phrase)?|secret|token|api[_-]?key|apikey|authorization|cookie|credentials?|principal|dsn)$"
)
_ENV_NAME: Final = re.compile(
    r"(?i)(password|passwd|secret|token(?!s)|api_?key|authorization|credential|otlp.*headers)"
)
_HINT: Final = re.compile(
    "://|password|passwd|secret|api_key|api-key|apikey|authorization|token|bearer |basic |eyj|private key"
)
"""Some of it stands, in lower case, in every text that one of the expressions below matches, but for seeds."""
_ADDRESS: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^\s/@\"'<>]+@")
_NAMED: Final = re.compile(
    r"(?i)((?:password|passwd|secret|api[_-]?key|authorization|token)[\"']?\s*[=:]\s*[\"']?(?:(?:bearer|basic)\s+)?)"
    r"(?!bearer\s|basic\s)[^\s\"',;&\\*]+"
)
_CREDENTIAL: Final = re.compile(r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}")
_JSON_WEB_TOKEN: Final = re.compile(r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_NKEY_SEED: Final = re.compile(r"\bS[ACNOUX][A-Z2-7]{56}\b")
_SEED_CHARS: Final = 58
_PRIVATE_KEY: Final = re.compile(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)")


_known: Final[list[str]] = []
"""The secrets of this process, longest first."""
known_numbers: Final[set[int]] = set()
"""Those of them that are numbers."""


def remember_secrets(values: Iterable[str]) -> None:
    """Mask these wherever they turn up in this process."""
    forms = {form for value in values for form in _forms(value) if len(form) >= _SHORTEST}
    _known[:] = sorted(forms.union(_known), key=len, reverse=True)
    known_numbers.update(int(form) for form in forms if form.isdecimal() and form == str(int(form)))
    _mask_word.cache_clear()


def _forms(secret: str) -> Iterator[str]:
    """As it is, and as it stands in an address, a form or JSON."""
    yield from (secret, unquote(secret), quote(secret, safe=""), quote_plus(secret))
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]


def secrets_of_environment(environment: Mapping[str, str]) -> Iterator[str]:
    """Values of variables that are named like a secret, and passwords of addresses."""
    for name, value in environment.items():
        if _ENV_NAME.search(name):
            yield value
            yield from (part.partition("=")[2] for part in value.split(",") if "=" in part)
        if "://" in value:
            yield from _passwords(value)


def secrets_of_config(value: object) -> Iterator[str]:
    """Every `SecretStr` of a model, and the password of one that is an address."""
    match value:
        case SecretStr():
            secret = value.get_secret_value()
            yield secret
            yield from _passwords(secret)
        case BaseModel():
            for name in type(value).model_fields:
                yield from secrets_of_config(getattr(value, name))
        case Mapping():
            for each in value.values():
                yield from secrets_of_config(each)
        case tuple() | list() | frozenset():
            for each in value:
                yield from secrets_of_config(each)


def _passwords(addresses: str) -> Iterator[str]:
    for address in addresses.split(","):
        try:
            password = urlsplit(address.strip()).password
        except ValueError:
            continue  # no address: nothing of it is known to be a password
        if password:
            yield password


def mask(text: str) -> str:
    """The text without its secrets."""
    if len(text) < _SHORTEST:
        return text
    return _mask_word(text) if len(text) <= _WORD else _masked_text(text)


@lru_cache(maxsize=1_024)
def _mask_word(text: str) -> str:
    # Names, kinds and events stand in nearly every line of a log.
    return _masked_text(text)


def _masked_text(text: str) -> str:
    for secret in _known:
        if secret in text:
            text = text.replace(secret, MASK)
    if len(text) >= _SEED_CHARS:
        text = _NKEY_SEED.sub(MASK, text)
    # Most texts hold none of these: looking for the words first is twenty times cheaper than the expressions.
    if _HINT.search(text.lower()) is None:
        return text
    text = _ADDRESS.sub(rf"\1{MASK}@", text)
    text = _NAMED.sub(rf"\1{MASK}", text)
    text = _CREDENTIAL.sub(rf"\1{MASK}", text)
    text = _JSON_WEB_TOKEN.sub(MASK, text)
    return _PRIVATE_KEY.sub(MASK, text)


@lru_cache(maxsize=1_024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def masked(value: Any, name: str = "") -> Any:
    """Data without its secrets, fit for JSON: a text or number under a secret's name is masked whole, and whatever is
    no data becomes the text it is told as."""
    match value:
        case str():
            return MASK if _is_secret(name) else mask(value)
        case bool() | None:
            return value
        case int() | float():
            return MASK if value in known_numbers or _is_secret(name) else value
        case dict():
            return {mask(str(key)): masked(each, str(key)) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [masked(each, name) for each in value]
        case bytes() | bytearray():
            return masked(value.decode(errors="replace"), name)
        case _:
            return masked(str(value), name)
