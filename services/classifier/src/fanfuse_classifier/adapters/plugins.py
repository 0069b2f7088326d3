"""Finds the shape and corpus classifiers by entry point.

In: names from the settings. Out: the loaded parts, or `UnknownClassifierError` that lists what is installed. Loaded
once, at start.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from fanfuse_classifier.ports import CorpusClassifier, ShapeClassifier

SHAPE_GROUP: Final = "fanfuse.shape_classifiers"
CORPUS_GROUP: Final = "fanfuse.corpus_classifiers"
DEFAULT_CORPUS_CLASSIFIER: Final = "term_weights"


class UnknownClassifierError(LookupError):
    """No installed package offers the classifier that the settings name, or several do."""


def load_shape_classifier(name: str) -> ShapeClassifier:
    """The function registered under this name."""
    classifier: ShapeClassifier = _load(SHAPE_GROUP, name)
    return classifier


def load_corpus_classifier(name: str) -> CorpusClassifier:
    """What the factory registered under this name makes."""
    classifier: CorpusClassifier = _load(CORPUS_GROUP, name)()
    return classifier


def _load(group: str, name: str) -> Any:
    installed = entry_points(group=group)
    found: set[EntryPoint] = {entry for entry in installed if entry.name == name}
    if len({entry.value for entry in found}) != 1:
        names = ", ".join(sorted({entry.name for entry in installed})) or "none"
        problem = "is offered by several packages" if found else "is not installed"
        raise UnknownClassifierError(f"{name!r} {problem} in {group!r}; installed are: {names}")
    return found.pop().load()
