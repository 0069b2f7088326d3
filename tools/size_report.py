"""Reports how long our files and functions are, and fails when one is too long.

In: the src trees of the workspace, or the folders given as arguments. Out: median, p90 and maximum on standard output,
and each offender on its own line. Never imports the code that it measures.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
SOURCE_TREES = ("*/src", "services/*/src", "apps/*/src")


@dataclass(frozen=True, slots=True)
class Size:
    """The length in lines of one file, or of one function from `def` to its last line."""

    where: str
    lines: int


def measure_file(path: Path) -> tuple[Size, list[Size]]:
    """Measure a file and every function in it, nested ones included."""
    text = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(text, filename=str(path)))
    functions = [
        Size(f"{path}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return Size(str(path), len(text.splitlines())), functions


def quantile(sizes: Sequence[Size], share: float) -> int:
    """Give the nearest-rank quantile in lines; 0 when there is nothing to measure."""
    ordered = sorted(size.lines for size in sizes)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0


def summarise(name: str, sizes: Sequence[Size], limit: int) -> str:
    """Describe one population in a line."""
    median, p90, longest = (quantile(sizes, share) for share in (0.5, 0.9, 1.0))
    return f"{name:<9} {len(sizes):>5}   median {median:>3}   p90 {p90:>3}   max {longest:>3} (limit {limit})"


def offenders(sizes: Sequence[Size], limit: int) -> Iterator[str]:
    """Name what is over the limit, longest first."""
    for size in sorted(sizes, key=lambda size: -size.lines):
        if size.lines > limit:
            yield f"too long: {size.where}: {size.lines} lines (limit {limit})"


def main(arguments: Sequence[str]) -> int:
    """Print the report; return 1 when anything is over its limit."""
    trees = [Path(argument) for argument in arguments] or [t for glob in SOURCE_TREES for t in Path().glob(glob)]
    measured = [measure_file(path) for tree in trees for path in sorted(tree.rglob("*.py"))]
    files = [file for file, _ in measured]
    functions = [function for _, found in measured for function in found]
    print(summarise("files", files, MAX_FILE_LINES))
    print(summarise("functions", functions, MAX_FUNCTION_LINES))
    too_long = [*offenders(files, MAX_FILE_LINES), *offenders(functions, MAX_FUNCTION_LINES)]
    print("\n".join(too_long), end="\n" if too_long else "")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
