"""Progress bars for index runs and many queries, on standard error: real counts only.

In: parts and counts, from any thread. Out: nothing but what is drawn.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_LABELS = {"texts": "read and embed", "vector": "vector index", "keyword": "keyword index", "graph": "graph index"}


@contextmanager
def index_progress(
    name: str, read: Callable[[], tuple[int, int]] | None = None
) -> Iterator[Callable[[str, int], None]]:
    """What an index run tells its progress to. `read`: bytes read and bytes in all, which bound the first part."""
    bars = _bars()
    tasks: dict[str, TaskID] = {}
    chunks = 0

    def told(part: str, done: int) -> None:
        nonlocal chunks
        if not tasks:
            bars.start()  # not before: a command that is refused at once draws nothing
        if part not in tasks:
            tasks[part] = bars.add_task(f"{name}: {_LABELS.get(part, f'to {part}')}", total=chunks or None)
        chunks = max(chunks, done)
        bars.update(tasks[part], completed=done, total=_total(part, done, chunks, read))

    try:
        yield told
        for task in tasks.values():
            bars.update(task, total=chunks, completed=chunks)
    finally:
        if tasks:
            bars.stop()


def _total(part: str, done: int, chunks: int, read: Callable[[], tuple[int, int]] | None) -> int | None:
    if part != "texts":
        return chunks
    if read is None:
        return None
    seen, whole = read()
    # Chunks so far, scaled by the share of bytes read: an estimate that ends at the true count.
    return max(done, round(done * whole / seen)) if seen else None


@contextmanager
def counting(name: str, total: int) -> Iterator[Callable[[], None]]:
    """What is called whenever one more of `total` queries is answered."""
    with _bars() as bars:
        task = bars.add_task(f"{name}: ask", total=total)
        yield lambda: bars.advance(task)


def _bars() -> Progress:
    columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True))
