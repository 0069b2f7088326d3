"""The normal form of entity names, shared by the graph's index and its seeds.

In: a name as written. Out: the key by which it is stored and found. A key is compared whole; no character of it is an
operator.
"""

import unicodedata


def entity_key(name: str) -> str:
    """NFKC, casefolded, blanks collapsed, without the `()` of a call; empty for a blank name."""
    key = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    return key.removesuffix("()") or key


def last_name(key: str) -> str:
    """The last component of a dotted symbol (`read_text` of `pathlib.path.read_text`), else the key itself."""
    last = key.rpartition(".")[2]
    return last if last.isidentifier() else key


def ends_with_name(key: str, name: str) -> bool:
    """True if `key` is `name` or a dotted symbol that ends with it (`pathlib.path.read_text`, `path.read_text`)."""
    return key == name or key.endswith(f".{name}")
