"""A command starts with what it needs and no more: engines, buses and number libraries load when they are used."""

import subprocess
import sys

import pytest

HEAVY = {
    *("aiohttp", "elasticsearch", "faststream", "kglite", "markdown_it", "nats", "neo4j", "numpy", "onnxruntime"),
    *("opensearchpy", "qdrant_client", "qdrant_edge", "scipy", "sklearn", "starlette", "tantivy", "uvicorn"),
}


@pytest.mark.parametrize(
    ("loading", "allowed"),
    [
        ("import fanfuse_cli.main", set()),
        ("import fanfuse_cli.main, fanfuse_indexing", set()),
        ("import fanfuse_cli.main, fanfuse_client", {"nats", "aiohttp"}),
        ("import fanfuse_all_in_one.operating", {"nats", "aiohttp"}),
    ],
)
def test_what_a_command_loads(loading: str, allowed: set[str]) -> None:
    """`nats` loads aiohttp where it is installed."""
    listing = f"{loading}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) - allowed == set()
