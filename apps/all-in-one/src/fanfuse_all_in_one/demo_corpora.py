"""The corpora of the demonstration: text that every machine has. In: this interpreter, its packages, this checkout.
Out: corpora of two tenants with what their cards need. Reads only; nothing is made up and nothing is fetched.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fanfuse_all_in_one.demo_packages import package_chunks
from fanfuse_all_in_one.demo_stdlib import MODULES, stdlib_chunks
from fanfuse_all_in_one.judged_collection import Collection
from fanfuse_contracts.chunks import Chunk
from fanfuse_contracts.corpus import FieldType
from fanfuse_indexing import Loading

ACME: Final = "acme"
GLOBEX: Final = "globex"
NO_CHECKOUT: Final = "the project's own documents are left out: this is not a checkout of its repository"
_DOCUMENTS: Final = ("README.md", "CONTRIBUTING.md", "docs", "services", "indexing")
_STRONG: Final = 2.0
_PLAIN: Final = 1.0
_STDLIB_TERMS: Final = "python module class function method docstring library standard import exception file path"
_DOCS_TERMS: Final = (
    "fanfuse corpus corpora lane fuser fusion router classifier backend nats subject stream tenant budget"
)
_PACKAGES_TERMS: Final = "package packages install requires dependency dependencies license readme library framework"


@dataclass(frozen=True)
class DemoCorpus:
    """A corpus to index: the words of its card, and its chunks, to be iterated once."""

    tenant: str
    corpus: str
    display_name: str
    description: str
    fields: Mapping[str, FieldType]
    term_weights: Mapping[str, float]
    chunks: Iterator[Chunk]


def demo_corpora(repository: Path | None = None) -> tuple[DemoCorpus, ...]:
    """`acme`: the standard library and, where `repository` is one, the project's documents; `globex`: the packages."""
    checkout = repository or find_repository()
    documents = (fanfuse_docs(checkout),) if checkout else ()
    return (python_stdlib(), *documents, packages())


def find_repository() -> Path | None:
    """The checkout this module runs from; None when it was installed from a wheel (`NO_CHECKOUT` says so)."""
    return next((folder for folder in Path(__file__).resolve().parents if _is_repository(folder)), None)


def python_stdlib() -> DemoCorpus:
    """Docstrings of the standard library."""
    modules = {part: _STRONG for module in MODULES for part in module.lower().split(".") if len(part) > 1}
    return DemoCorpus(
        ACME,
        "python-stdlib",
        "Python standard library",
        "Modules, classes, functions and methods of the Python standard library with their docstrings.",
        {"module": FieldType.STRING, "kind": FieldType.STRING, "has_example": FieldType.BOOLEAN},
        {**_weights(_STDLIB_TERMS, _PLAIN), **modules},
        stdlib_chunks(),
    )


def fanfuse_docs(repository: Path) -> DemoCorpus:
    """README, docs and the READMEs of the services."""
    return DemoCorpus(
        ACME,
        "fanfuse-docs",
        "Fanfuse documents",
        "How Fanfuse works: its services, subjects, decisions and limits.",
        {"path": FieldType.STRING, "format": FieldType.STRING, "heading": FieldType.STRING},
        _weights(_DOCS_TERMS, _STRONG),
        _documents(repository),
    )


def packages() -> DemoCorpus:
    """Descriptions of the installed packages."""
    return DemoCorpus(
        GLOBEX,
        "packages",
        "Installed Python packages",
        "Summaries and READMEs of the Python packages installed here, and what they require.",
        {"name": FieldType.STRING, "license": FieldType.STRING},
        _weights(_PACKAGES_TERMS, _PLAIN),
        package_chunks(),
    )


def beir_corpus(collection: Collection, vectors: Path | None = None) -> DemoCorpus:
    """The documents of a collection, as a corpus of `acme` under the collection's name."""
    return DemoCorpus(
        ACME,
        collection.name,
        collection.name,
        f"The test collection {collection.name}.",
        {},
        {},
        iter(Loading(collection.documents, vectors=vectors)),
    )


def _documents(repository: Path) -> Iterator[Chunk]:
    """Markdown only, under paths below the repository."""
    for name in _DOCUMENTS:
        root = repository / name
        for file in sorted(root.rglob("*.md")) if root.is_dir() else [root] if root.is_file() else []:
            path = file.relative_to(repository).as_posix()
            for chunk in Loading(file):
                place = chunk.chunk_id.partition("#")[2]
                renamed = {"chunk_id": f"{path}#{place}", "document_id": path, "source": path}
                yield chunk.model_copy(update={**renamed, "metadata": {**chunk.metadata, "path": path}})


def _is_repository(folder: Path) -> bool:
    return (folder / "docs").is_dir() and (folder / "apps/all-in-one/pyproject.toml").is_file()


def _weights(terms: str, weight: float) -> dict[str, float]:
    return dict.fromkeys(terms.split(), weight)
