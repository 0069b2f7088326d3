"""The size report measures what it says and fails on what is too long."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def size_report(repository: Path):
    spec = importlib.util.spec_from_file_location("size_report", repository / "tools/size_report.py")
    assert spec
    assert spec.loader
    module = sys.modules["size_report"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def function_of(lines: int) -> str:
    return "def long():\n" + "    pass\n" * (lines - 1)


def test_at_the_limits_is_fine(size_report, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.py").write_text(function_of(60) + "\n" * 240, encoding="utf-8")

    assert size_report.main([str(tmp_path)]) == 0
    assert "too long" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "offender"), [(function_of(61), "a.py:1 long: 61 lines"), ("\n" * 301, "a.py: 301 lines")]
)
def test_over_a_limit_fails_and_is_named(size_report, tmp_path: Path, capsys, text: str, offender: str):
    (tmp_path / "a.py").write_text(text, encoding="utf-8")

    assert size_report.main([str(tmp_path)]) == 1
    assert offender in capsys.readouterr().out


def test_nothing_to_measure_is_fine(size_report, tmp_path: Path):
    assert size_report.main([str(tmp_path)]) == 0
