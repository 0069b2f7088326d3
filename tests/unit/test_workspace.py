"""The workspace is whole: each member is importable, typed, documented and installed from this checkout."""

import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEMBERS = sorted(path.parent for glob in ("*", "services/*", "apps/*") for path in ROOT.glob(f"{glob}/pyproject.toml"))


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_member_is_installed_typed_and_documented(member):
    project = tomllib.loads((member / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = importlib.import_module(project["name"].replace("-", "_"))

    assert module.__file__ == str(member / "src" / module.__name__ / "__init__.py")
    assert (member / "src" / module.__name__ / "py.typed").exists()
    assert module.__doc__


def test_every_member_is_a_dependency_of_the_root():
    root = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [
        tomllib.loads((member / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"] for member in MEMBERS
    ]

    assert sorted(root["dependencies"]) == sorted(names)


def test_the_lock_names_only_the_public_index():
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    registries = {source for package in lock["package"] if (source := package["source"].get("registry"))}

    assert registries == {"https://pypi.org/simple"}
