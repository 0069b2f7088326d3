"""Series of wired backends: there at zero from the moment a card names the backend, before anything is counted.

In: the registry's cards. Effect: pre-created label sets. A backend that is no longer wired keeps its series until the
process ends, so that no counter falls.
"""

from collections.abc import Callable, Sequence

from fanfuse_contracts.corpus import CorpusCard, Wiring
from fanfuse_contracts.metrics import MetricSpec
from fanfuse_runtime.corpus_store import CorporaReader
from fanfuse_runtime.metrics import Metrics


def prepare_wired(
    metrics: Metrics,
    corpora: CorporaReader,
    specs: Sequence[MetricSpec],
    serves: Callable[[Wiring], bool] = lambda _wiring: True,
) -> None:
    """Pre-create these metrics for every wired backend that this process `serves`, now and as cards change."""

    def on_card(_key: str, card: CorpusCard | None) -> None:
        for wiring in card.backends if card else ():
            if serves(wiring):
                for spec in specs:
                    metrics.prepare(spec, kind=wiring.kind.value, backend=wiring.backend)

    corpora.on_change(on_card)
