"""What a release of Neo4j needs to run: a Java runtime and its jars, resolved from the Maven registry once.

Out: paths. The class path is kept under ~/.cache, outside the repository; a machine without Maven, Java or the
registry gets `MissingServerError`, which says what is missing.
"""

import fcntl
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tests.servers.opensearch_release import CACHE, MissingServerError

_RESOLVE_WITHIN_S: Final = 400
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>test</artifactId><version>1</version>
<dependencies><dependency><groupId>org.neo4j.test</groupId><artifactId>neo4j-harness</artifactId>
<version>{}</version></dependency></dependencies></project>
"""


@dataclass(frozen=True, slots=True)
class Neo4jRelease:
    """A release, the oldest Java it runs on, and options of that Java."""

    version: str
    java: int
    options: tuple[str, ...] = ()


@cache
def java_for(release: Neo4jRelease) -> Path:
    """The oldest installed Java that the release runs on."""
    javas = [Path(found)] if (found := shutil.which("java")) else []
    javas += Path("/usr/lib/jvm").glob("*/bin/java")
    fitting = sorted((version, path) for path in javas if (version := _java_version(path)) >= release.java)
    if not fitting:
        raise MissingServerError(f"no real Neo4j {release.version} here: it needs Java {release.java} or newer")
    return fitting[0][1]


@cache
def class_path(release: Neo4jRelease) -> str:
    """The jars of the release."""
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"neo4j-{release.version}.classpath"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _complete(kept):
            _resolve(release, kept)
    return kept.read_text().strip()


def _complete(kept: Path) -> bool:
    return kept.is_file() and all(Path(jar).is_file() for jar in kept.read_text().strip().split(os.pathsep))


def _resolve(release: Neo4jRelease, kept: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingServerError("no real Neo4j here: Maven (mvn) is not installed")
    folder = CACHE / f"neo4j-{release.version}"
    folder.mkdir(exist_ok=True)
    (folder / "pom.xml").write_text(_POM.format(release.version))
    written = folder / "classpath"
    command = [maven, "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:build-classpath"]
    try:
        done = subprocess.run(
            [*command, f"-Dmdep.outputFile={written}"],
            capture_output=True, text=True, check=False, timeout=_RESOLVE_WITHIN_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise MissingServerError("no real Neo4j here: the Maven registry is too slow") from error
    if done.returncode or not _complete(written):
        raise MissingServerError(f"no real Neo4j here: Maven could not resolve it: {done.stdout[-400:]}")
    written.replace(kept)


def _java_version(java: Path) -> int:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', said)
    return int(found.group(1)) if found else 0
