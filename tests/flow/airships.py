"""A small corpus that every kind of lane can search, and what to ask it."""

from fanfuse_contracts.chunks import Chunk, Triple
from fanfuse_contracts.corpus import FieldType
from fanfuse_testing.flow import sample_chunk

FIELDS = {"year": FieldType.INTEGER, "topic": FieldType.STRING}
QUESTION = "How do I read the lines of a text file?"
SEEDS = ("pathlib",)

_ROWS = (
    ("pathlib", "files", 2014, "pathlib models filesystem paths as objects and opens a text file to read its lines."),
    ("csv", "files", 2003, "csv reads the lines of a spreadsheet file, one row of text after the other."),
    ("asyncio", "network", 2014, "asyncio runs coroutines on an event loop and opens network connections."),
    ("socket", "network", 1995, "socket gives access to the network interface of the operating system."),
    ("json", "formats", 2008, "json encodes and decodes text in the notation of JavaScript objects."),
    ("zipfile", "files", 2001, "zipfile reads and writes a file of compressed members."),
    ("logging", "operation", 2002, "logging writes events as lines of text to a file or a network socket."),
    ("datetime", "formats", 2003, "datetime supplies classes for dates and times, and reads them from text."),
)


def library(marker: str = "", only: tuple[str, ...] = ()) -> list[Chunk]:
    """The chunks; `marker` is a word put into each text and title, `only` names the ones to make."""
    return [
        sample_chunk(
            name,
            f"{text} {marker}".strip(),
            title=f"{name} {marker}".strip(),
            source=f"library/{name}.rst",
            document_id=f"library/{name}.rst",
            metadata={"year": year, "topic": topic},
            entities=(name, topic),
            triples=(Triple(subject=topic, relation="HAS_MODULE", object=name),),
        )
        for name, topic, year, text in _ROWS
        if not only or name in only
    ]
