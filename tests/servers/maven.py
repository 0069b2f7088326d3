"""What a Java server needs to run: a Java runtime and its jars, resolved from the Maven registry once.

In: a release. Out: paths. The class path is kept under ~/.cache, outside the repository; a machine without Maven, Java
or the registry gets `MissingServerError`, which says what is missing.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, Protocol

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fanfuse-test-servers"
_RESOLVE_WITHIN_S: Final = 400
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>test</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY: Final = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


class MissingServerError(RuntimeError):
    """No such server can be run on this machine; the message says why."""


class JavaRelease(Protocol):
    """A release of a server that runs on Java."""

    @property
    def product(self) -> str:
        """Its name for people."""
        ...

    @property
    def version(self) -> str:
        """Such as 5.26.16."""
        ...

    @property
    def java(self) -> int:
        """The oldest Java it runs on."""
        ...

    @property
    def artifacts(self) -> tuple[tuple[str, str, str], ...]:
        """Group, name and version of what is resolved."""
        ...


@cache
def java_for(release: JavaRelease) -> Path:
    """The oldest installed Java that the release runs on."""
    fitting = sorted((version, path) for path in _javas() if (version := _java_version(path)) >= release.java)
    if not fitting:
        raise _missing(release, f"it needs Java {release.java} or newer")
    return fitting[0][1]


@cache
def class_path(release: JavaRelease) -> str:
    """The jars of the release."""
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"{_name(release)}.classpath"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _complete(kept):
            _resolve(release, kept)
    return kept.read_text().strip()


def _name(release: JavaRelease) -> str:
    return f"{release.product.lower()}-{release.version}"


def _missing(release: JavaRelease, why: str) -> MissingServerError:
    return MissingServerError(f"no real {release.product} {release.version} here: {why}")


def _complete(kept: Path) -> bool:
    return kept.is_file() and all(Path(jar).is_file() for jar in kept.read_text().strip().split(os.pathsep))


def _resolve(release: JavaRelease, kept: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise _missing(release, "Maven (mvn) is not installed")
    folder = CACHE / _name(release)
    folder.mkdir(exist_ok=True)
    pom, written = folder / "pom.xml", folder / "classpath"
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(*artifact) for artifact in release.artifacts)))
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={written}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_RESOLVE_WITHIN_S)
    except subprocess.TimeoutExpired as error:
        raise _missing(release, "the Maven registry is too slow") from error
    if done.returncode or not _complete(written):
        raise _missing(release, f"Maven could not resolve it: {done.stdout[-400:]}")
    written.replace(kept)


def _javas() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
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
