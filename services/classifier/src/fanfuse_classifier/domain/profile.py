"""The file of a trained scorer: everything it knows, readable line by line.

In: JSON bytes. Out: a checked `Profile`, or pydantic's `ValidationError` that names what is wrong. Nothing in it is
executable, and nothing is repaired: a shape that does not fit is refused.
"""

import json
from collections import Counter
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from fanfuse_classifier.domain.features import Block
from fanfuse_contracts.base import FiniteFloat, Written
from fanfuse_contracts.tokens import Token

FORMAT: Final[Literal["fanfuse-routing-profile"]] = "fanfuse-routing-profile"
FORMAT_VERSION: Final[Literal[1]] = 1
"""Raised when the file's shape changes, or what features.py reads of a text."""

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class TrainingData(Written):
    """What a profile was fitted on."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Of the file of labelled queries."""
    queries: Annotated[int, Field(ge=1)]
    """Queries that were fitted on, held-out ones not counted."""
    per_corpus: dict[Token, Count]
    penalty: Positive
    """C of the linear support-vector machine, chosen by cross-validation like the model's `lengths`."""


class Confusion(Written):
    """A pair of corpora that were taken for each other."""

    labelled: Token
    predicted: Token
    queries: Count


class LanguageFigures(Written):
    """Accuracy on the queries of one language."""

    queries: Count
    accuracy_1: Share


class Figures(Written):
    """How good probabilities are on queries with known corpora."""

    queries: Count
    accuracy_1: Share
    """Queries whose corpus has the highest probability."""
    accuracy_3: Share
    """Queries whose corpus is among the three highest."""
    calibration_error: Share
    """ECE: 15 bins of equal width on the highest probability; mean |accuracy - confidence|, weighted by queries."""
    log_loss: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    """Mean -ln(probability of the labelled corpus)."""
    languages: dict[str, LanguageFigures] = {}
    confusions: tuple[Confusion, ...] = ()
    """Most frequent first."""


class Report(Written):
    """What was measured when the profile was made."""

    held_out: Figures
    """On queries that were neither fitted on nor looked at while choosing."""
    held_out_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Of the file the held-out queries are from: the training file itself where a part of it was held out."""
    cross_validated: Figures
    """On the training queries, each judged by a model that did not see it."""


class FeatureRow(NamedTuple):
    """One feature: its name, in how many training queries it is, and its weight for each corpus."""

    name: str
    queries: Count
    weights: tuple[FiniteFloat, ...]


class LinearModel(Written):
    """Weights of named features.

    P(corpus) = softmax((weights · vector + bias) / temperature), over the corpora of the model; the vector is that of
    feature_space.py.
    """

    corpora: Annotated[tuple[Token, ...], Field(min_length=2)]
    """In the order of all weights."""
    queries: Annotated[int, Field(ge=1)]
    """How many training queries the features were counted in."""
    lengths: dict[Block, Annotated[float, Field(ge=0.0, allow_inf_nan=False)]]
    """Length of each block's part of a vector; a block that is missing or 0 is left out."""
    bias: tuple[FiniteFloat, ...]
    temperature: Positive
    floor: Annotated[float, Field(gt=0.0, lt=1.0)]
    """Probability from which on something speaks for a corpus."""
    features: dict[Block, tuple[FeatureRow, ...]]

    @model_validator(mode="after")
    def _shapes_fit(self) -> Self:
        count = len(self.corpora)
        if len(set(self.corpora)) != count:
            raise ValueError("corpora: an id stands twice")
        if len(self.bias) != count:
            raise ValueError(f"bias: {len(self.bias)} numbers for {count} corpora")
        for block, rows in self.features.items():
            self._check_rows(block, rows)
        return self

    def _check_rows(self, block: Block, rows: tuple[FeatureRow, ...]) -> None:
        for row in rows:
            if len(row.weights) != len(self.corpora):
                raise ValueError(
                    f"features.{block}: {row.name!r} has {len(row.weights)} weights for {len(self.corpora)} corpora"
                )
            if row.queries > self.queries:
                raise ValueError(f"features.{block}: {row.name!r} is in {row.queries} of {self.queries} queries")
        if repeated := [name for name, times in Counter(row.name for row in rows).items() if times > 1]:
            raise ValueError(f"features.{block}: {repeated[0]!r} stands twice")


class Profile(Written):
    """A model, where it is from and how good it is."""

    format: Literal["fanfuse-routing-profile"]
    version: Literal[1]
    tenant: Token | None = None
    """The tenant whose corpora these are; None: of every tenant that has corpora of these ids."""
    trained_on: TrainingData
    report: Report
    model: LinearModel

    def to_lines(self) -> str:
        """The profile as JSON with one feature per line; the same profile gives the same text."""
        head = self.model_dump(mode="json", exclude={"model": {"features"}})
        blocks = ",\n".join(
            f'   "{block}": [\n{_lines(rows)}\n   ]' for block, rows in sorted(self.model.features.items())
        )
        # `model` is the last field: what closes is its object and the file's.
        opened = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n }\n}")
        return f'{opened},\n  "features": {{\n{blocks}\n  }}\n }}\n}}\n'


def _lines(rows: tuple[FeatureRow, ...]) -> str:
    return ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
