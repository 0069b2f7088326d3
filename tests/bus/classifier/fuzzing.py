"""1,000 bodies that somebody might publish as a query, drawn from a fixed seed.

Out: bytes. Some are good queries, most are not: any Unicode up to 64 kB, control characters, lone surrogates as escapes
and as bytes, bytes that are no text, huge numbers, deep nesting, right fields with wrong values.
"""

import json
from functools import cache

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fanfuse_classifier.domain.text import is_blank
from fanfuse_contracts.query import SubmittedQuery

COUNT = 1_000
MAX_BYTES = 64 * 1024

CONTROLS = st.text(st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp"]), max_size=40)
ANY_UNICODE = st.text(st.characters(), max_size=60)
WITH_SURROGATES = st.text(st.characters(categories=["Cs", "Lu", "Ll", "Lo", "Mn", "So"]), min_size=1, max_size=30)
WORDS = "a|Alice Smith |TRAVEL-2026-01 |中|王芳教授和|さん|서울대학교와 |الدكتور أحمد |😀|é|e\u0301|\u0301\u0316|\u202e"
SIGNS = "\n at x(|? |\"|“a|《|'|`|((|::|2001:|§ 1|--x |a.|A. "
PIECES = st.sampled_from([*WORDS.split("|"), *SIGNS.split("|")])
SIZES = st.integers(1, MAX_BYTES) | st.sampled_from([1_000, 4_000, 8_191, 8_192, 8_193, 30_000, MAX_BYTES])


def _repeated(piece, size):
    """A piece again and again, up to so many bytes."""
    unit = piece.encode("utf-8", "surrogatepass")
    return (unit * (size // len(unit) + 1))[:size].decode("utf-8", "ignore")


LONG = st.builds(_repeated, PIECES | ANY_UNICODE.filter(bool), SIZES)
ORDINARY = st.lists(PIECES | ANY_UNICODE, max_size=8).map("".join)
GOOD = ORDINARY | ANY_UNICODE | LONG
TEXTS = GOOD | CONTROLS | WITH_SURROGATES

NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -(10**400), 2**63, 1e308, 5e-324, -0.0])
SCALARS = st.none() | st.booleans() | NUMBERS | ANY_UNICODE | WITH_SURROGATES
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_UNICODE, inner, max_size=4)
)
FIELDS = st.sampled_from([*SubmittedQuery.model_fields, "tenant", "__proto__", ""])
TOKENS = st.from_regex(r"[a-z0-9_-]{1,8}", fullmatch=True)
RIGHT = st.fixed_dictionaries(
    {"text": ORDINARY},
    optional={
        "corpora": st.lists(TOKENS, min_size=1, max_size=3),
        "capability": TOKENS,
        "expansion_terms": st.lists(ANY_UNICODE, max_size=3),
        "graph_seeds": st.lists(ANY_UNICODE, max_size=3),
        "top_k": st.integers(1, 100),
        "filter": st.fixed_dictionaries({"field": TOKENS, "op": st.just("eq"), "value": SCALARS}),
        "hyde_vector": st.fixed_dictionaries(
            {"model": TOKENS, "values": st.lists(st.floats(), min_size=1, max_size=4)}
        ),
        "principal": st.fixed_dictionaries({"id": ANY_UNICODE}),
        "include_text": st.booleans(),
    },
)


def _escaped(value):
    """Lone surrogates become escapes; what JSON can't say (NaN, Infinity) stays as Python writes it."""
    return json.dumps(value).encode()


def _raw(value):
    """Lone surrogates become bytes that are no UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _broken(body, place, byte):
    place %= len(body) + 1
    return body[:place] + bytes([byte]) + body[place:]


def _nested(depth, opening):
    inside = opening * depth
    return b'{"text":"x","filter":' + inside + b"0" + (b"]" if opening == b"[" else b"}") * depth + b"}"


ASKED = st.builds(lambda text: {"text": text}, TEXTS)
WRONG = st.builds(lambda query, field, value: {**query, field: value}, RIGHT, FIELDS, JSON)
WRITTEN = st.builds(lambda write, query: write(query), st.sampled_from([_escaped, _raw]), ASKED | RIGHT | WRONG)
BODIES = (
    st.builds(_escaped, st.builds(lambda text: {"text": text}, GOOD))
    | st.builds(_raw, st.builds(lambda text: {"text": text}, LONG))
    | WRITTEN
    | st.builds(_broken, WRITTEN, st.integers(0, MAX_BYTES), st.integers(0, 255))
    | st.builds(_escaped, JSON)
    | st.builds(_nested, st.integers(1, 9_000), st.sampled_from([b"[", b'{"not":']))
    | st.binary(max_size=2_000)
)


@cache
def bodies() -> tuple[bytes, ...]:
    """`COUNT` bodies, drawn without chance."""
    drawn: list[bytes] = []

    @settings(
        derandomize=True,
        max_examples=COUNT,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(BODIES)
    def draw(body):
        drawn.append(body)

    draw()
    return tuple(drawn)


def is_good(body: bytes) -> bool:
    """True for a body that the contract takes and of which something can be seen."""
    try:
        return not is_blank(SubmittedQuery.from_json(body).text)
    except ValueError:
        return False
