"""The documented symbols of a Python module. In: its source text and dotted name. Out: module, classes and functions
with signature and docstring. Reads the syntax tree only: nothing is imported or run.
"""

import ast
import inspect
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fanfuse_contracts.chunks import Triple

Function = ast.FunctionDef | ast.AsyncFunctionDef
_MAX_SIGNATURE_CHARS = 400


class SymbolKind(StrEnum):
    """What a symbol is."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    METHOD = "method"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A module, class, function or method. `name` is dotted from the module down; `parent` is "" for the module."""

    name: str
    kind: SymbolKind
    signature: str
    doc: str
    parent: str
    bases: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """Signatures of undocumented functions that belong to it."""

    @property
    def text(self) -> str:
        """Signature, docstring and undocumented members, as indexed."""
        members = "\n".join(self.members)
        return "\n\n".join(part for part in (self.signature, self.doc, members) if part)

    @property
    def triples(self) -> tuple[Triple, ...]:
        """CONTAINS or HAS_METHOD from the parent, EXTENDS to each base."""
        relation = "HAS_METHOD" if self.kind is SymbolKind.METHOD else "CONTAINS"
        upward = ((self.parent, relation, self.name),) if self.parent else ()
        edges = (*upward, *((self.name, "EXTENDS", base) for base in self.bases))
        return tuple(
            Triple(subject=subject, relation=relation, object=target)
            for subject, relation, target in edges
            if max(len(subject), len(target)) <= 512
        )


def parse_python(source: str) -> ast.Module | None:
    """The syntax tree; None if the source is not Python this interpreter can read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def symbols_of(tree: ast.Module, module: str) -> Iterator[Symbol]:
    """The module if it has a docstring or undocumented functions, each class, each documented function, in order.

    Functions inside functions are left out; both branches of an `if` or `try` at module or class level are read.
    """
    doc, members = _doc(tree), _undocumented(tree.body)
    if doc or members:
        yield Symbol(module, SymbolKind.MODULE, f"module {module}", doc, "", members=members)
    yield from _symbols(tree.body, module, SymbolKind.FUNCTION)


def _symbols(body: Sequence[ast.stmt], parent: str, function_kind: SymbolKind) -> Iterator[Symbol]:
    for node in _definitions(body):
        name = f"{parent}.{node.name}"
        if isinstance(node, ast.ClassDef):
            bases = tuple(base for base in map(_dotted, node.bases) if base and base != "object")
            members = _undocumented(node.body)
            yield Symbol(name, SymbolKind.CLASS, _class_signature(node, name), _doc(node), parent, bases, members)
            yield from _symbols(node.body, name, SymbolKind.METHOD)
        elif doc := _doc(node):
            yield Symbol(name, function_kind, _signature(node, name), doc, parent)


def _definitions(body: Iterable[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _definitions(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
            for handler in getattr(node, "handlers", ()):
                yield from _definitions(handler.body)


def _undocumented(body: Iterable[ast.stmt]) -> tuple[str, ...]:
    functions = (node for node in _definitions(body) if not isinstance(node, ast.ClassDef))
    return tuple(dict.fromkeys(_signature(node, node.name) for node in functions if not _doc(node)))


def _doc(node: ast.Module | ast.ClassDef | Function) -> str:
    doc = ast.get_docstring(node, clean=False)
    return inspect.cleandoc(doc).strip() if doc else ""


def _signature(node: Function, name: str) -> str:
    returns = f" -> {_source(node.returns)}" if node.returns else ""
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return _cut(f"{prefix} {name}({_source(node.args)}){returns}")


def _class_signature(node: ast.ClassDef, name: str) -> str:
    bases = ", ".join(map(_source, node.bases))
    return _cut(f"class {name}({bases})" if bases else f"class {name}")


def _dotted(node: ast.expr) -> str:
    target = node.value if isinstance(node, ast.Subscript) else node
    return _source(target) if isinstance(target, ast.Name | ast.Attribute) else ""


def _source(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."


def _cut(signature: str) -> str:
    return signature if len(signature) <= _MAX_SIGNATURE_CHARS else signature[: _MAX_SIGNATURE_CHARS - 1] + "…"
