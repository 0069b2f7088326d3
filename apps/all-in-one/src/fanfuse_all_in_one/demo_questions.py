"""Questions of the demonstration, by tenant and shape, with what an answer should hold. Data only."""

from dataclasses import dataclass
from typing import Final

from fanfuse_contracts.enums import Shape


@dataclass(frozen=True, slots=True)
class Question:
    """`expected`: ids of which at least one belongs near the top of a good answer."""

    tenant: str
    shape: Shape
    text: str
    expected: tuple[str, ...]
    seeds: tuple[str, ...] | None = None
    """Graph seeds given with the question; None: those found in the text."""


QUESTIONS: Final = (
    Question(
        "acme",
        Shape.SEMANTIC,
        "How do I read a text file line by line?",
        ("io.IOBase.readline", "linecache", "fileinput", "fileinput.filelineno", "fileinput.lineno"),
    ),
    Question("acme", Shape.KEYWORD_HEAVY, "zipfile BadZipFile", ("zipfile.BadZipFile", "zipfile")),
    Question(
        "acme",
        Shape.ENTITY_RICH,
        "OrderedDict and ChainMap",
        ("collections.OrderedDict", "collections.ChainMap"),
    ),
    Question(
        "acme",
        Shape.MIXED,
        "What does os.path.join do with an absolute part?",
        ("os.path.join",),
    ),
    Question(
        "acme",
        Shape.KEYWORD_HEAVY,
        "pathlib.Path and os.path.join",
        ("pathlib.Path", "os.path.join"),
    ),
    Question(
        "globex",
        Shape.SEMANTIC,
        "How can I validate data with type hints?",
        ("pydantic", "pydantic#pydantic-validation", "pydantic-core"),
    ),
    Question("globex", Shape.KEYWORD_HEAVY, "nats client python", ("nats-py",)),
    Question("globex", Shape.MIXED, "asyncio http client library with HTTPX", ("httpx2", "httpx2#1", "httpcore2")),
    Question("globex", Shape.ENTITY_RICH, "FastStream and Pydantic", ("faststream", "pydantic")),
)
