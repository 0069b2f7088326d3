"""What a release of OpenSearch needs to run: a Java runtime and its jars, resolved from the Maven registry once.

Out: paths. The class path is kept under ~/.cache, outside the repository; a machine without Maven, Java or the
registry gets `MissingServerError`, which says what is missing.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fanfuse-test-servers"
_RESOLVE_WITHIN_S: Final = 400
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>test</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY: Final = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


class MissingServerError(RuntimeError):
    """No such server can be run on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release, the oldest Java it runs on, and what its node is started with."""

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


@cache
def java_for(release: Release) -> Path:
    """The oldest installed Java that the release runs on."""
    fitting = sorted((version, path) for path in _javas() if (version := _java_version(path)) >= release.java)
    if not fitting:
        raise MissingServerError(f"OpenSearch {release.version} needs Java {release.java} or newer: none is installed")
    return fitting[0][1]


@cache
def class_path(release: Release) -> str:
    """The jars of the release."""
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"opensearch-{release.version}.classpath"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _complete(kept):
            _resolve(release, kept)
    return kept.read_text().strip()


def _complete(kept: Path) -> bool:
    return kept.is_file() and all(Path(jar).is_file() for jar in kept.read_text().strip().split(os.pathsep))


def _resolve(release: Release, kept: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingServerError("no real OpenSearch here: Maven (mvn) is not installed")
    folder = CACHE / f"opensearch-{release.version}"
    folder.mkdir(exist_ok=True)
    pom = folder / "pom.xml"
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(*artifact) for artifact in release.artifacts)))
    written = folder / "classpath"
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={written}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_RESOLVE_WITHIN_S)
    except subprocess.TimeoutExpired as error:
        raise MissingServerError("no real OpenSearch here: the Maven registry is too slow") from error
    if done.returncode or not _complete(written):
        raise MissingServerError(f"no real OpenSearch here: Maven could not resolve it: {done.stdout[-400:]}")
    written.replace(kept)


def _javas() -> Iterator[Path]:
    named = [os.environ.get("JAVA_HOME")]
    yield from (Path(home, "bin", "java") for home in named if home)
    if found := shutil.which("java"):
        yield Path(found)
    yield from Path("/usr/lib/jvm").glob("*/bin/java")


def _java_version(java: Path) -> int:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', said)
    return int(found.group(1)) if found else 0
