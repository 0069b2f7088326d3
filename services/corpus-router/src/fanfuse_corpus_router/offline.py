"""Plans a text against an example corpus that is wired with all three kinds: no bus, no index, no engine.

In: a text and its shape. Out: the same plan or rejection as in the flow, for `fanfuse route`. It never searches.
"""

from collections.abc import Collection
from typing import Final

from fanfuse_contracts.classification import QueryClassified, QueryShape
from fanfuse_contracts.config import RetrievalConfig
from fanfuse_contracts.corpus import CorpusCard, EmbedderSpec, Wiring
from fanfuse_contracts.enums import Kind
from fanfuse_contracts.plan import Clarification, Plan, Rejection
from fanfuse_contracts.query import AcceptedQuery
from fanfuse_corpus_router.domain.facts import BackendFacts
from fanfuse_corpus_router.domain.planning import plan_query, told

TENANT: Final = "example"
CORPUS: Final = "example"
BACKEND: Final = "main"

EXAMPLE_CARD: Final = CorpusCard(
    tenant=TENANT,
    corpus=CORPUS,
    display_name="Example",
    description="Wired with one backend of each kind.",
    public=True,
    backends=tuple(Wiring(kind=kind, backend=BACKEND, pool=BACKEND) for kind in Kind),
    embedder=EmbedderSpec(model="example", dimensions=384),
)


def plan_example(
    text: str, shape: QueryShape, *, failed: Collection[Kind] = (), graph: bool = True
) -> Plan | Clarification | Rejection:
    """Plan `text`, which the classifier found to be of `shape`.

    `failed`: kinds whose backend counts as degraded. `graph` false: the caller gives no graph seeds. The one decision
    of the plan, `plan.decisions[0]`, holds shape, kinds used, weights, `degraded_backends` (`kind/backend`) and
    `bm25_fallback`. Raises `pydantic.ValidationError` for a text that no query may hold.
    """
    event = QueryClassified(
        tenant=TENANT,
        query_id="offline",
        query=AcceptedQuery(text=text, graph_seeds=None if graph else ()),
        submitted_ns=0,
        classification=shape,
    )
    backends = BackendFacts(unhealthy=frozenset((kind, BACKEND) for kind in failed))
    return told(plan_query(event, (EXAMPLE_CARD,), backends, RetrievalConfig(), now_s=0.0))
