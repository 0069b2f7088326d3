"""Records as the flow makes them, small enough to be worked out by hand."""

from fanfuse_contracts.enums import Kind, Status
from fanfuse_contracts.fusion import FusionApplied, FusionConfig, FusionPolicy
from fanfuse_contracts.plan import Lane
from fanfuse_contracts.retrieval import LaneHit
from fanfuse_evaluation.lane_lists import AskedQuery, LaneList
from fanfuse_evaluation.offline import fused_again

RRF = FusionConfig(policy=FusionPolicy.RRF, reserved_seats=0)


def lane(kind: Kind, weight: float, *ids: str, corpus: str = "tiny") -> LaneList:
    """A list whose scores fall by one."""
    found = Lane(
        name=f"{corpus}-{kind.value}", corpus=corpus, kind=kind, backend="main", pool="main", weight=weight, window=100,
        filter_digest="",
    )  # fmt: skip
    hits = [
        LaneHit(chunk_id=one, rank=rank, score=float(len(ids) - rank), content_hash=f"{corpus}/{one}")
        for rank, one in enumerate(ids, 1)
    ]
    return LaneList(lane=found, hits=tuple(hits))


def asked(query_id: str = "q1", **changed: object) -> AskedQuery:
    """Keyword finds a, b, c; vector finds b, d; b and d are relevant. The answer is what RRF makes of them."""
    stated: dict[str, object] = {
        "collection": "tiny",
        "query_id": query_id,
        "grades": {"b": 1, "d": 2},
        "top_k": 100,
        "status": Status.COMPLETE,
        "fusion": FusionApplied.of(RRF),
        "lists": (lane(Kind.KEYWORD, 1.0, "a", "b", "c"), lane(Kind.VECTOR, 1.5, "b", "d")),
    }
    bare = AskedQuery.model_validate(stated | changed)
    return bare if "answer" in changed else bare.model_copy(update={"answer": fused_again(bare, RRF)})
