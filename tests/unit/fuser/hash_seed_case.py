"""Prints the digest of one answer, for a test that runs it under several hash seeds."""

import hashlib

from fanfuse_fuser.domain.assembly import Joined, assemble
from fanfuse_fuser.domain.coverage import ranked_lists
from fanfuse_fuser.domain.fusion import fuse
from fanfuse_fuser.domain.join import Join
from fanfuse_fuser.domain.page import page_of
from tests.unit.fuser.fuser_builders import failed, hits, lane, planned, reply


def digest() -> str:
    lanes = [lane(kind, corpus) for corpus in ("legal", "hr") for kind in ("vector", "keyword", "graph")]
    plan = planned(lanes)
    join = Join(plan)
    for one in lanes[:2] + lanes[3:5]:
        join.offer(reply(one, hits(*("abcdef" if one.kind == "vector" else "fedcba"))), 1.0)
    join.offer(failed(lanes[2], "timeout"), 1.0)
    fused = fuse(ranked_lists(join.results()))
    page = page_of(fused, 0, 10, None)
    answer = assemble(plan, Joined(join.results(), len(fused)), page, arrived_ms=0.0, elapsed_ms=1.0)
    return hashlib.sha256(answer.to_json()).hexdigest()


if __name__ == "__main__":
    import sys

    sys.stdout.write(digest())
