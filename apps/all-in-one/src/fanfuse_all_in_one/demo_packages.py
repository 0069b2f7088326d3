"""The installed Python packages as a corpus. In: their metadata. Out: a chunk of summary and start of the README for
each, more of the READMEs while there is room, and what requires what. Imports no package.
"""

import re
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.metadata import PackageMetadata
from itertools import chain, islice, zip_longest
from typing import Final

from fanfuse_contracts.chunks import Chunk, MetadataValue, Triple, content_hash
from fanfuse_indexing.chunking import chunks_of, cut_title
from fanfuse_indexing.decoding import clean, plain_newlines
from fanfuse_indexing.documents import Document
from fanfuse_indexing.formats import Format
from fanfuse_indexing.splitting import split_text

MAX_CHUNKS: Final = 240
MAX_TEXT_CHARS: Final = 400
_MAX_PER_PACKAGE: Final = 8
_MAX_LICENSE_CHARS: Final = 60
_OWN_PREFIX: Final = "fanfuse"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r";.*\bextra\s*==")
_SEPARATORS = re.compile(r"[-_.]+")
_IMAGES = re.compile(
    r"\[?!\[[^\]]{0,200}\]\([^()\s]{0,500}\)(?:\]\([^()\s]{0,500}\))?|<(?!https?:|mailto:)[a-z/!][^<>]{0,500}>",
    re.IGNORECASE,
)


def package_chunks(packages: Iterable[metadata.Distribution] | None = None) -> Iterator[Chunk]:
    """At most `MAX_CHUNKS` chunks: the first of every package by name, then the second of every package, and so on."""
    found = metadata.distributions() if packages is None else packages
    by_name = {normal_name(name): package for package in found if (name := _first(package.metadata, "Name"))}
    columns = [_chunks(name, by_name[name]) for name in sorted(by_name) if not name.startswith(_OWN_PREFIX)]
    rows = chain.from_iterable(zip_longest(*columns))
    return islice((chunk for chunk in rows if chunk), MAX_CHUNKS)


def normal_name(name: str) -> str:
    """A package name as the index writes it (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def requirements(package: metadata.Distribution) -> tuple[str, ...]:
    """Names of what a package requires without extras, sorted."""
    lines = (line for line in package.requires or () if not _EXTRA.search(line))
    return tuple(sorted({normal_name(found[0]) for line in lines if (found := _NAME.match(line))}))


def _chunks(name: str, package: metadata.Distribution) -> Iterator[Chunk]:
    facts: dict[str, MetadataValue] = {"name": name, "license": license_of(package)}
    required = requirements(package)
    summary = _first(package.metadata, "Summary")
    listed = f"{name} requires {', '.join(required)}." if required else ""
    text = "\n".join(part for part in (summary, listed) if part) or f"{name} has no summary."
    text = split_text(text, MAX_TEXT_CHARS, MAX_TEXT_CHARS)[0]
    title = cut_title(f"{name}: {summary}" if summary else name)
    yield Chunk(
        chunk_id=name,
        text=text,
        title=title,
        source=name,
        document_id=name,
        content_hash=content_hash(title, text),
        metadata=facts,
        entities=(name, *required),
        triples=tuple(Triple(subject=name, relation="REQUIRES", object=other) for other in required),
    )
    for chunk in islice(chunks_of(_readme(name, package)), _MAX_PER_PACKAGE - 1):
        cut = split_text(chunk.text, MAX_TEXT_CHARS, MAX_TEXT_CHARS)[0]
        titled = cut_title(f"{name} › {chunk.title}")
        entities = tuple(dict.fromkeys((name, *chunk.entities)))
        changed = {"text": cut, "title": titled, "metadata": facts, "entities": entities}
        yield chunk.model_copy(update={**changed, "content_hash": content_hash(titled, cut)})


def _readme(name: str, package: metadata.Distribution) -> Document:
    text = plain_newlines(_first(package.metadata, "Description"))
    kind = (_first(package.metadata, "Description-Content-Type") or "text/x-rst").partition(";")[0].strip().lower()
    known = {"text/markdown": Format.MARKDOWN, "text/x-rst": Format.RST}
    plain = _IMAGES.sub("", text)
    return Document(name, "README", plain, name, known.get(kind, Format.TEXT))


def license_of(package: metadata.Distribution) -> str:
    """The stated licence in one line: the SPDX expression, else the licence field, else the classifier."""
    about = package.metadata
    classifiers = [line for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    named = classifiers[0].rpartition("::")[2].strip() if classifiers else "unknown"
    field = _first(about, "License-Expression") or _first(about, "License")
    return field if field and "\n" not in field and len(field) <= _MAX_LICENSE_CHARS else named


def _first(about: PackageMetadata, field: str) -> str:
    """A field's first value, "" if it is missing. The body of the metadata counts as `Description`."""
    values = about.get_all(field) or [""]
    return clean(str(values[0])).strip()
