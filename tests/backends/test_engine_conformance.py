"""Each embedded engine behaves like every other."""

from fanfuse_backend_workers.adapters.kglite_index import KgliteIndexBuilder
from fanfuse_backend_workers.adapters.qdrant_vector import QdrantIndexBuilder
from fanfuse_backend_workers.adapters.tantivy_keyword import TantivyIndexBuilder
from fanfuse_backend_workers.ports import IndexBuilder
from fanfuse_contracts.enums import Kind
from fanfuse_testing.engine_suite import EngineSuite


class TestTantivy(EngineSuite):
    kind = Kind.KEYWORD

    def builder(self) -> IndexBuilder:
        return TantivyIndexBuilder()


class TestQdrantEdge(EngineSuite):
    kind = Kind.VECTOR

    def builder(self) -> IndexBuilder:
        return QdrantIndexBuilder()


class TestKglite(EngineSuite):
    kind = Kind.GRAPH

    def builder(self) -> IndexBuilder:
        return KgliteIndexBuilder()
