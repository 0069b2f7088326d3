"""What the flow would decide for a query over the corpora of a configuration: no bus, no index, no engine.

In: the operator's configuration, a tenant and a query. Out: the same reply as `decide` gives. It never searches; every
backend counts as healthy unless the caller says otherwise.
"""

from collections.abc import Collection, Iterable

from fanfuse_all_in_one.indexing import DEFAULT_EMBEDDER
from fanfuse_classifier.domain.classify import Classification, Classifiers, classify
from fanfuse_classifier.service import build_classifiers
from fanfuse_classifier.settings import ClassifierSettings
from fanfuse_contracts.classification import QueryClassified
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import Clarification, DecideReply, Plan, Rejection
from fanfuse_contracts.query import AcceptedQuery, SubmittedQuery
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.planning import plan_query, told


class OfflineRouter:
    """Decides for the corpora of a configuration, as classifier and router would."""

    def __init__(self, config: FanfuseConfig, cards: Iterable[CorpusCard] | None = None) -> None:
        """`cards`: instead of those of the configuration. Raises `ConfigError` for a faulty rule or profile."""
        self._retrieval = config.retrieval
        self._classifiers: Classifiers = build_classifiers(config, ClassifierSettings())
        self._cards = tuple(map(_as_indexed, config.cards())) if cards is None else tuple(cards)

    @property
    def tenants(self) -> tuple[str, ...]:
        """Tenants that own a corpus, sorted."""
        return tuple(sorted({card.tenant for card in self._cards}))

    def classify(self, tenant: str, query: SubmittedQuery) -> Classification | Rejection:
        """What the classifier would publish of one query."""
        return classify(query, tenant, [card for card in self._cards if card.tenant == tenant], self._classifiers)

    def decide(self, tenant: str, query: SubmittedQuery, *, failed: Collection[Kind] = (), now_s: float) -> DecideReply:
        """The plan, clarification or rejection of one query. `failed`: kinds whose backends count as degraded."""
        cards = [card for card in self._cards if card.tenant == tenant]
        found = self.classify(tenant, query)
        if isinstance(found, Rejection):
            return DecideReply(rejection=found)
        wired = {(wiring.kind, wiring.backend) for card in cards for wiring in card.backends}
        facts = BackendFacts(unhealthy=frozenset(one for one in wired if one[0] in failed))
        outcome = told(plan_query(_event(tenant, query, found), cards, facts, self._retrieval, now_s))
        return DecideReply(
            classification=found.shape,
            plan=outcome if isinstance(outcome, Plan) else None,
            clarification=outcome if isinstance(outcome, Clarification) else None,
            rejection=outcome if isinstance(outcome, Rejection) else None,
        )


def _as_indexed(card: CorpusCard) -> CorpusCard:
    """The card with the embedder that `index` would state."""
    return card if card.embedder else card.model_copy(update={"embedder": DEFAULT_EMBEDDER})


def _event(tenant: str, query: SubmittedQuery, found: Classification) -> QueryClassified:
    return QueryClassified(
        tenant=tenant,
        query_id="offline",
        query=AcceptedQuery.model_validate(query, from_attributes=True),
        submitted_ns=0,
        classification=found.shape,
        scopes=found.scopes,
        corpus_scores=found.corpus_scores,
    )
