"""Turns source documents into chunks and entities; knows no engine and no bus, and writes nothing."""

from fanfuse_indexing.chunking import chunks_of
from fanfuse_indexing.entities import Gazetteer, extract_entities
from fanfuse_indexing.loading import Loading
from fanfuse_indexing.report import Code, LoadReport, Notice, Skipped
from fanfuse_indexing.vectors import VectorsError

__all__ = [
    "Code",
    "Gazetteer",
    "LoadReport",
    "Loading",
    "Notice",
    "Skipped",
    "VectorsError",
    "chunks_of",
    "extract_entities",
]
