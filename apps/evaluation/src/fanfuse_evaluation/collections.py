"""Collections made ready to be asked: read, checked, and indexed where the flow does not hold them yet.

In: folders in BEIR form and files of vectors. Out: questions. Only the flow of a data directory is written to; that of
somebody else must hold the corpus already.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from fanfuse_all_in_one.failures import OperatorError, UnknownCorpusError
from fanfuse_all_in_one.indexing import DEFAULT_EMBEDDER, Progress, Wish, index_corpus
from fanfuse_all_in_one.judged_collection import Collection, document_ids, folder_name, read_collection
from fanfuse_all_in_one.operating import Operator
from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_corpus_router.domain.languages import language_problem
from fanfuse_evaluation.asking import Questions
from fanfuse_indexing import Loading
from fanfuse_indexing.vectors import has_query_vectors, read_vectors


class Showing(Protocol):
    """Who shows the progress of an index run, for the time of a block."""

    def __call__(self, name: str) -> AbstractContextManager[Progress]:
        """What the run tells its progress to."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A collection and the file of its vectors, if there is one."""

    collection: Collection
    vectors: Path | None

    def questions(self) -> Questions:
        """What is asked. Raises `CollectionError` where documents and judgements do not fit, or `VectorsError`."""
        return Questions(
            collection=self.collection.name,
            texts=self.collection.queries,
            grades=self.collection.judgements,
            documents=document_ids(self.collection),
            vectors={} if self.vectors is None else dict(_query_vectors(self.vectors, self.collection)),
            model=DEFAULT_EMBEDDER.model,
        )


def read_sources(folders: Sequence[Path], vectors: Path | None) -> list[Source]:
    """The collections of folders. `vectors`: a file for the one folder, or a folder that holds `<name>.npz` of each.

    Raises `CollectionError`, or `OperatorError` for what does not fit together.
    """
    if vectors is not None and vectors.is_file() and len(folders) > 1:
        raise OperatorError(f"{vectors} is one file for {len(folders)} collections: name a folder of <collection>.npz")
    found = [Source(read_collection(folder), _vectors_of(folder, vectors)) for folder in folders]
    names = [source.collection.name for source in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise OperatorError(f"two folders are called {twice[0]}: a corpus has the name of its folder")
    return found


async def make_ready(
    operator: Operator, data_dir: Path | None, tenant: str, source: Source, showing: Showing
) -> CorpusCard:
    """The card of the corpus that holds a collection: as it is registered, or indexed now if it is not, or older than
    its files. `data_dir` None: the flow is somebody else's. Raises `UnknownCorpusError`."""
    name = source.collection.name
    card = (await operator.card(tenant, name)).card
    if data_dir is None:
        if card is None or card.generation is None:
            raise UnknownCorpusError(
                f"tenant {tenant} has no corpus {name}: index it there first, with "
                f"`fanfuse index {source.collection.documents} --tenant {tenant} --corpus {name}`"
            )
        return card
    if card is not None and _is_fresh(card, source):
        return card
    loading = Loading(source.collection.documents, vectors=source.vectors)
    wish = Wish(tenant, name, public=True, description=f"The test collection {name}.")
    with showing(f"{tenant}/{name}") as told:
        done = await index_corpus(operator, data_dir, wish, loading, lambda: loading.report.fields, told)
    return done.card


def _is_fresh(card: CorpusCard, source: Source) -> bool:
    if card.generation is None or card.indexed_at is None:
        return False
    files = [source.collection.documents, *([source.vectors] if source.vectors else [])]
    changed = max(datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in files)
    return datetime.fromisoformat(card.indexed_at) > changed


def _vectors_of(folder: Path, vectors: Path | None) -> Path | None:
    if vectors is None or vectors.is_file():
        return vectors
    path = vectors / f"{folder_name(folder)}.npz"
    return path if path.is_file() else None


def _query_vectors(path: Path, collection: Collection) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Only of texts in a language that the model knows: of any other the flow would make no vector either."""
    if not has_query_vectors(path):
        return
    vectors = read_vectors(path, "query")
    for key, text in collection.queries.items():
        vector = vectors.get(key)
        if vector is not None and language_problem(DEFAULT_EMBEDDER.languages, classify_shape(text)) is None:
            yield key, vector
