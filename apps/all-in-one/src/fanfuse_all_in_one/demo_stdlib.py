"""The Python standard library as a corpus. In: the source files of the running interpreter. Out: one chunk per well
documented public symbol, with its place in the graph. Reads syntax trees only; imports and runs nothing of them.
"""

import re
import sysconfig
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

from fanfuse_contracts.chunks import Chunk, Triple, content_hash
from fanfuse_indexing.chunking import cut_title
from fanfuse_indexing.python_source import Symbol, SymbolKind, parse_python, symbols_of
from fanfuse_indexing.splitting import split_text

MAX_SYMBOLS: Final = 1_200
MAX_TEXT_CHARS: Final = 280
"""Of a symbol's signature and docstring: an embedder spends its time by length."""
_MIN_DOC_CHARS: Final = 40
_LONG_DOC_CHARS: Final = 240
_MAX_PER_MODULE: Final = 30
_MAX_REFERENCES: Final = 12

_ASYNCIO_PARTS: Final = "tasks runners queues locks events streams subprocess timeouts taskgroups futures threads"
_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "asyncio": tuple(f"asyncio/{name}.py" for name in _ASYNCIO_PARTS.split()),
    "concurrent.futures": tuple(f"concurrent/futures/{name}.py" for name in ("_base", "thread", "process")),
    "datetime": ("datetime.py", "_pydatetime.py"),
    "decimal": ("_pydecimal.py",),
    "importlib.metadata": ("importlib/metadata/__init__.py",),
    "io": ("io.py", "_pyio.py"),
    "json": ("json/__init__.py", "json/decoder.py", "json/encoder.py"),
    "os.path": ("posixpath.py", "genericpath.py"),
    "re": ("re/__init__.py", "re.py"),
    "unittest": ("unittest/case.py", "unittest/main.py", "unittest/suite.py"),
}
"""Public names whose code lies in other files, such as the Python form of a module that is also written in C."""
_PLAIN_MODULES: Final = """
    abc argparse ast base64 bisect calendar cmd codecs collections configparser contextlib copy csv dataclasses difflib
    dis doctest email.message email.utils enum filecmp fileinput fnmatch fractions ftplib functools getpass gettext glob
    graphlib gzip hashlib heapq hmac html html.parser http.client http.cookies http.server imaplib inspect ipaddress
    linecache locale logging logging.config logging.handlers lzma mailbox mimetypes multiprocessing.pool netrc numbers
    operator os pathlib pdb pickle pickletools pkgutil platform plistlib pprint profile queue random reprlib sched
    secrets selectors shelve shlex shutil signal smtplib socket socketserver ssl stat statistics string struct
    subprocess sysconfig tarfile tempfile textwrap threading timeit tokenize tomllib trace traceback types typing
    unittest.mock urllib.parse urllib.request urllib.robotparser uuid venv warnings weakref webbrowser
    wsgiref.simple_server xml.dom.minidom xml.etree.ElementTree xmlrpc.client zipapp zipfile zipimport bz2
"""
MODULES: Final = tuple(sorted((*_ALIASES, *_PLAIN_MODULES.split())))

_EXCEPTIONS = ("Error", "Exception", "Warning")
"""The name of an exception says what it is for, so one without a docstring is kept too."""
_TOKEN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)


def stdlib_chunks(root: Path | None = None) -> Iterator[Chunk]:
    """At most `MAX_SYMBOLS` chunks, by module and name. `root`: the folder of the standard library's sources."""
    kept = _best(stdlib_symbols(root or Path(sysconfig.get_path("stdlib"))))
    names = _Names(kept)
    for symbol, module in kept:
        yield _chunk(symbol, module, names)


def stdlib_symbols(root: Path) -> Iterator[tuple[Symbol, str]]:
    """Every public documented symbol of `MODULES`, each with its module; modules without source files are left out."""
    for module in MODULES:
        seen: set[str] = set()
        for file in _files(root, module):
            tree = parse_python(_source(file))
            for symbol in _with_docs(symbols_of(tree, module)) if tree else ():
                if _is_public(symbol, module) and symbol.name not in seen:
                    seen.add(symbol.name)
                    yield symbol, module


def _files(root: Path, module: str) -> Iterator[Path]:
    path = module.replace(".", "/")
    for name in _ALIASES.get(module) or (f"{path}.py", f"{path}/__init__.py"):
        if (root / name).is_file():
            yield root / name


def _source(file: Path) -> str:
    with tokenize.open(file) as stream:
        return stream.read()


def _with_docs(symbols: Iterable[Symbol]) -> Iterator[Symbol]:
    """A class without a docstring is described by that of its constructor."""
    found = list(symbols)
    docs = {symbol.name: symbol.doc for symbol in found}
    for symbol in found:
        yield symbol if symbol.doc else replace(symbol, doc=docs.get(f"{symbol.name}.__init__", ""))


def _is_public(symbol: Symbol, module: str) -> bool:
    inner = symbol.name.removeprefix(module).split(".")
    told = len(symbol.doc) >= _MIN_DOC_CHARS or any(base.endswith(_EXCEPTIONS) for base in symbol.bases)
    return told and not any(part.startswith("_") for part in inner)


def _best(symbols: Iterator[tuple[Symbol, str]]) -> list[tuple[Symbol, str]]:
    """The best of every module, then the second best of every module, and so on while there is room."""
    by_module: dict[str, list[tuple[Symbol, str]]] = {}
    for symbol, module in symbols:
        by_module.setdefault(module, []).append((symbol, module))
    rows = zip_longest(*(sorted(entries, key=_rank)[:_MAX_PER_MODULE] for entries in by_module.values()))
    kept = islice((entry for row in rows for entry in row if entry), MAX_SYMBOLS)
    return sorted(kept, key=lambda entry: (entry[1], entry[0].name))


def _rank(entry: tuple[Symbol, str]) -> tuple[int, int, str]:
    """The module, then what stands in it, then methods; better documented ones first."""
    symbol, _ = entry
    order = {SymbolKind.MODULE: 0, SymbolKind.METHOD: 2}
    return order.get(symbol.kind, 1), -min(len(symbol.doc), _LONG_DOC_CHARS), symbol.name


class _Names:
    """Which symbol a word of a docstring means: a full name, a name in the same class or module, or a name that only
    one symbol has and that no prose has (`BadZipFile`, `read_text`).
    """

    def __init__(self, symbols: Sequence[tuple[Symbol, str]]) -> None:
        self.full = {symbol.name for symbol, _ in symbols}
        owners: dict[str, list[str]] = {}
        for name in self.full:
            owners.setdefault(name.rpartition(".")[2], []).append(name)
        self._short = {short: names[0] for short, names in owners.items() if len(names) == 1}
        self._classes = {symbol.name for symbol, _ in symbols if symbol.kind is SymbolKind.CLASS}

    def of(self, symbol: Symbol) -> tuple[str, ...]:
        """The full name, and the short one where it can mean nothing else."""
        short = symbol.name.rpartition(".")[2]
        told = short != symbol.name and (symbol.name in self._classes or _is_code(short))
        return (symbol.name, short) if told and self._short.get(short) == symbol.name else (symbol.name,)

    def referred(self, symbol: Symbol, module: str) -> tuple[str, ...]:
        """Other symbols that a docstring names, in order."""
        found = dict.fromkeys(self._meaning(token, symbol, module) for token in _TOKEN.findall(symbol.doc))
        return tuple(name for name in found if name and name != symbol.name)[:_MAX_REFERENCES]

    def _meaning(self, token: str, symbol: Symbol, module: str) -> str | None:
        if "." in token and token in self.full:
            return token
        if not _is_code(token):
            return None
        near = (f"{symbol.parent}.{token}", f"{module}.{token}")
        return next((name for name in near if name in self.full), self._short.get(token))


def _is_code(word: str) -> bool:
    return any(character.isupper() or character in "_." for character in word[1:])


def _chunk(symbol: Symbol, module: str, names: _Names) -> Chunk:
    short = symbol.name.rpartition(".")[2]
    signature = "" if symbol.kind is SymbolKind.MODULE else symbol.signature.replace(symbol.name, short, 1)
    text = split_text(f"{signature}\n{symbol.doc}", MAX_TEXT_CHARS, MAX_TEXT_CHARS)[0]
    title = cut_title(symbol.name)
    referred = names.referred(symbol, module)
    references = tuple(Triple(subject=symbol.name, relation="REFERS_TO", object=name) for name in referred)
    return Chunk(
        chunk_id=symbol.name,
        text=text,
        title=title,
        source=module,
        document_id=module,
        content_hash=content_hash(title, text),
        metadata={
            "module": module,
            "kind": symbol.kind.value,
            "has_example": _EXAMPLE.search(symbol.doc) is not None,
        },
        entities=(*names.of(symbol), *referred),
        triples=(*symbol.triples, *references),
    )
