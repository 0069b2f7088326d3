"""A file that a command writes is whole or as it was, and stays what it is: a file, a link, a pipe."""

import os
import stat
import threading
from pathlib import Path

import pytest

from fanfuse_all_in_one.whole_file import whole_file, write_whole


def test_a_file_is_replaced_with_its_mode_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "users.conf"
    file.write_text("old")
    file.chmod(0o640)
    write_whole(file, "neü")
    assert (file.read_text("utf-8"), stat.S_IMODE(file.stat().st_mode)) == ("neü", 0o640)
    write_whole(tmp_path / "new", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "users.conf"]


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "lists"
    file.write_text("old")

    def fail() -> None:
        with whole_file(file) as stream:
            stream.write(b"half")
            raise RuntimeError("the bus is away")

    with pytest.raises(RuntimeError, match="away"):
        fail()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("lists", "old")]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "overlay").mkdir()
    real, link = tmp_path / "overlay" / "users.conf", tmp_path / "users.conf"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert (link.is_symlink(), real.read_text()) == (True, "new")


def test_what_is_no_file_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    """As `--out /dev/null`, which root would have lost to a file; a pipe is one that everybody can make."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, "text")
    reader.join(30)
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == (["text"], True)
