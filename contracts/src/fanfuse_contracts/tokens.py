"""The one grammar for every id that becomes a part of a subject, key or durable name.

In: any string. Out: the same string, or `InvalidTokenError`. Nothing builds a subject from a string that was not
checked here, so a wildcard, dot, blank or newline in an id can never change who hears a message.
"""

import re
from functools import lru_cache
from typing import Annotated, Final

from pydantic import AfterValidator, Field

TOKEN_PATTERN = r"^[a-z0-9_-]{1,64}$"
_TOKEN = re.compile(r"[a-z0-9_-]{1,64}")
_REMEMBERED: Final = 4_096
"""Valid ids: each is checked some twenty times per query, and most of them in every query."""


class InvalidTokenError(ValueError):
    """An id does not follow the token grammar."""


def is_token(value: str) -> bool:
    """True if `value` follows the grammar."""
    return _TOKEN.fullmatch(value) is not None


@lru_cache(maxsize=_REMEMBERED)
def check_token(value: str, what: str = "token") -> str:
    """Return `value` unchanged if it is a token, else raise `InvalidTokenError` naming `what`."""
    if _TOKEN.fullmatch(value) is None:
        shown = value if len(value) <= 80 else value[:77] + "..."
        raise InvalidTokenError(
            f"{what} {shown!r} is not valid: use 1 to 64 of lower-case letters, digits, '_' and '-'"
        )
    return value


Token = Annotated[str, Field(json_schema_extra={"pattern": TOKEN_PATTERN}), AfterValidator(check_token)]
