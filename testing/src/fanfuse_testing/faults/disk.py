"""A small disk of its own for a broker, that can be filled to the last byte and emptied again.

In: a folder. Effects: a tmpfs is mounted there for the time of a block. Needs Linux and root.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BALLAST: Final = "ballast"
_PIECE: Final = b"\0" * 65_536


class MountRefusedError(RuntimeError):
    """The kernel mounts nothing for this user."""


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system of a few megabytes."""

    path: Path

    def fill(self) -> int:
        """Write until nothing fits any more; returns the bytes written."""
        written = 0
        # Unbuffered: what does not fit must fail here, not when the file is closed.
        with (self.path / _BALLAST).open("wb", buffering=0) as ballast:
            try:
                while True:
                    written += ballast.write(_PIECE)
            except OSError:
                return written

    def free(self) -> None:
        """Take back what `fill` took."""
        (self.path / _BALLAST).unlink()

    @property
    def left(self) -> int:
        """Bytes that still fit."""
        state = os.statvfs(self.path)
        return state.f_bavail * state.f_frsize


@asynccontextmanager
async def small_disk(folder: Path, megabytes: int) -> AsyncIterator[SmallDisk]:
    """A disk of so many megabytes; raises `MountRefusedError`."""
    await _call("mkdir", "-p", str(folder))
    await _call("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder))
    try:
        yield SmallDisk(folder)
    finally:
        await _call("umount", "--lazy", str(folder))


async def _call(*command: str) -> None:
    try:
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    except FileNotFoundError as error:
        raise MountRefusedError(f"{command[0]} is not installed") from error
    _, said = await process.communicate()
    if process.returncode:
        raise MountRefusedError(said.decode().strip() or f"{command[0]} ended with {process.returncode}")
