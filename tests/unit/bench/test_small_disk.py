"""A disk of a few megabytes is full when it says so, and has room again afterwards (needs root)."""

import errno

import pytest

from fanfuse_testing.faults.disk import MountRefusedError, small_disk


async def test_a_full_disk_refuses_and_a_freed_one_takes(tmp_path):
    try:
        async with small_disk(tmp_path / "disk", 2) as disk:
            written = disk.fill()
            assert written > 1_000_000
            assert disk.left == 0
            with pytest.raises(OSError, match="No space left") as refused:
                (disk.path / "more").write_bytes(b"x" * 65_536)
            assert refused.value.errno == errno.ENOSPC
            disk.free()
            assert disk.left > 1_000_000
    except MountRefusedError as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    assert list((tmp_path / "disk").iterdir()) == []


async def test_whoever_may_not_mount_is_told_so(tmp_path):
    with pytest.raises(MountRefusedError):
        async with small_disk(tmp_path / "disk", -1):
            pytest.fail("mounted")
