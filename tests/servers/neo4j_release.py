"""A release of Neo4j that tests run, as its harness for tests."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Neo4jRelease:
    """A release, the oldest Java it runs on, and options of that Java."""

    product: ClassVar[str] = "Neo4j"
    version: str
    java: int
    options: tuple[str, ...] = ()

    @property
    def artifacts(self) -> tuple[tuple[str, str, str], ...]:
        """Group, name and version of what is resolved."""
        return (("org.neo4j.test", "neo4j-harness", self.version),)
