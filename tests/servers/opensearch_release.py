"""Releases of OpenSearch that tests run: what each consists of, and what its node is started with."""

from dataclasses import dataclass
from typing import ClassVar, Final


@dataclass(frozen=True, slots=True)
class Release:
    """A release, the oldest Java it runs on, and what its node is started with."""

    product: ClassVar[str] = "OpenSearch"
    version: str
    java: int
    log4j: str
    plugins: tuple[str, ...]

    @property
    def artifacts(self) -> tuple[tuple[str, str, str], ...]:
        """Group, name and version of what is resolved."""
        return (
            ("org.opensearch", "opensearch", self.version),
            ("org.opensearch.plugin", "transport-netty4-client", self.version),
            ("org.opensearch.plugin", "analysis-common", self.version),
            ("org.apache.logging.log4j", "log4j-core", self.log4j),
        )


_PLUGINS: Final = ("org.opensearch.transport.Netty4", "org.opensearch.analysis.common.CommonAnalysis")
OPENSEARCH_2: Final = Release("2.19.6", 17, "2.25.4", tuple(f"{name}Plugin" for name in _PLUGINS))
OPENSEARCH_3: Final = Release("3.9.0", 21, "2.25.5", tuple(f"{name}ModulePlugin" for name in _PLUGINS))
