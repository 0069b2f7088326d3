"""Query texts that look like query syntax, and what a keyword engine finds for them: text is data.

In: nothing. Out: the texts of the chunks `c0` to `c7`, and queries with the chunks each must find.
"""

from typing import Final

TEXTS: Final = (
    "user alice",
    "4711 bar",
    "val d'or",
    "c++ x",
    "unbalanced",
    "orders 12 notes 9",
    "secret exists",
    "drop table docs",
)
QUERIES: Final[tuple[tuple[str, list[str]], ...]] = (
    ("user:/alice", ["c0"]),
    ("4711 { bar", ["c1"]),
    ("VAL D OR", ["c2"]),
    ("NOT", []),
    ("a AND", []),
    ("C++ (x)", ["c3"]),
    ('"unbalanced', ["c4"]),
    ("*", []),
    ("/orders/12/notes?_=9", ["c5"]),
    ("_exists_:secret", ["c6"]),
    ("tenant:acme", []),
    ("words:alice", ["c0"]),
    ("'; DROP TABLE docs; --", ["c7"]),
    ("alice^1000 || zzz~2 && [a TO b]", ["c0"]),
    ('{"match_all": {}}', []),
    ("\\", []),
    ("???", []),
    ("the of and", []),
    ("", []),
)
