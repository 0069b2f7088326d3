"""Where results and remarks go: results to standard output, everything else to standard error."""

from rich.console import Console
from rich.markup import escape

_WIDTH_OF_A_FILE = 140


def results() -> Console:
    """For what was asked for. A file or pipe gets a fixed width, so that its lines do not depend on a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    return console


def remark(line: str) -> None:
    """One line beside the results."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(escape(line))
