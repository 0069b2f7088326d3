"""Python source becomes its symbols with signature, docstring and place in the graph; nothing is run."""

import ast

from fanfuse_indexing.python_source import SymbolKind, parse_python, symbols_of

SOURCE = '''
"""About the module."""
import sys

raise SystemExit("never run")

if sys.platform == "win32":
    def where() -> str:
        """On Windows."""
else:
    def where() -> str:
        """Elsewhere."""

def bare(x): ...

class Shape(Base[int], metaclass=Meta):
    """A shape."""

    def area(self, *, unit: str = "m") -> float:
        """Its area."""
        def inner():
            """Not a symbol."""

    async def draw(self): ...

    class Corner:
        pass
'''


def symbols():
    tree = parse_python(SOURCE)
    assert tree
    return list(symbols_of(tree, "geo"))


def test_symbols_in_order_with_kind_and_text():
    assert [(symbol.name, symbol.kind, symbol.text) for symbol in symbols()] == [
        ("geo", SymbolKind.MODULE, "module geo\n\nAbout the module.\n\ndef bare(x)"),
        ("geo.where", SymbolKind.FUNCTION, "def geo.where() -> str\n\nOn Windows."),
        ("geo.where", SymbolKind.FUNCTION, "def geo.where() -> str\n\nElsewhere."),
        ("geo.Shape", SymbolKind.CLASS, "class geo.Shape(Base[int])\n\nA shape.\n\nasync def draw(self)"),
        ("geo.Shape.area", SymbolKind.METHOD, "def geo.Shape.area(self, *, unit: str='m') -> float\n\nIts area."),
        ("geo.Shape.Corner", SymbolKind.CLASS, "class geo.Shape.Corner"),
    ]


def test_triples_lead_from_the_parent_and_to_the_bases():
    triples = [(edge.subject, edge.relation, edge.object) for symbol in symbols() for edge in symbol.triples]

    assert ("geo", "CONTAINS", "geo.Shape") in triples
    assert ("geo.Shape", "HAS_METHOD", "geo.Shape.area") in triples
    assert ("geo.Shape", "EXTENDS", "Base") in triples


def test_what_cannot_be_parsed_is_none():
    assert parse_python("def f(:") is None
    assert parse_python("x = '\x00'") is None
    assert parse_python("(" * 5_000 + ")" * 5_000) is None
    assert isinstance(parse_python("x = 1"), ast.Module)
