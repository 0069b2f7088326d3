"""The pure parts of the benchmark: quantiles, tables, and to whom a sample of the CPU belongs."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest


def load(repository: Path, name: str):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", repository / f"bench/fanfuse_bench/{name}.py")
    assert spec
    assert spec.loader
    module = sys.modules[f"bench_{name}"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def figures(repository: Path):
    return load(repository, "figures")


@pytest.fixture(scope="module")
def sampling(repository: Path):
    return load(repository, "sampling")


def test_quantiles_are_values_that_were_measured(figures):
    values = [float(number) for number in range(1, 101)]

    assert figures.quantile(values, 0.5) == 51.0
    assert figures.quantile(values, 0.99) == 100.0
    assert figures.quantile([7.0], 0.95) == 7.0
    assert str(figures.spread(values)) == "51.0 / 96.0 / 100.0"


def test_nothing_measured_is_not_zero(figures):
    assert math.isnan(figures.quantile([], 0.5))


def test_a_table_is_markdown_and_keeps_its_columns(figures):
    assert figures.table(("a", "b"), [(1.234, "x|y")]) == "| a | b |\n| --- | --- |\n| 1.23 | x\\|y |"


SITE = "/env/site-packages"


@pytest.mark.parametrize(
    ("stack", "owner"),
    [
        ([(f"{SITE}/nats/aio/client.py", "publish"), ("/x/src/fanfuse_runtime/bus.py", "_publish")], "nats-py"),
        ([("/lib/json/encoder.py", "dumps"), ("/src/fanfuse_runtime/pull.py", "_ask")], "fanfuse_runtime"),
        ([("/usr/lib/python3.11/asyncio/events.py", "_run")], "asyncio"),
        ([("/x/src/fanfuse_contracts/base.py", "to_json"), ("/x/src/fanfuse_fuser/fuser.py", "answer")], "pydantic"),
        (
            [
                ("/x/src/fanfuse_contracts/tokens.py", "check_token"),
                (f"{SITE}/pydantic/main.py", "model_validate_json"),
                ("/x/src/fanfuse_contracts/base.py", "from_json"),
            ],
            "pydantic",
        ),
        (
            [
                ("/x/src/fanfuse_contracts/subjects.py", "query_fused"),
                ("/x/src/fanfuse_fuser/fuser.py", "answer"),
                (f"{SITE}/faststream/x.py", "process_message"),
            ],
            "fanfuse_contracts",
        ),
        ([("/usr/lib/python3.11/runpy.py", "_run_code")], "interpreter"),
    ],
)  # fmt: skip
def test_a_sample_belongs_to_whoever_the_innermost_code_works_for(sampling, stack, owner):
    assert sampling.owner_of(stack) == owner


def test_the_sampler_sees_the_cpu_that_is_spent(sampling):
    sampler = sampling.Sampler()
    sampler.start()
    try:
        total = sum(number * number for number in range(3_000_000))
    finally:
        profile = sampler.stop()

    assert total > 0
    assert profile.samples > 0
    assert profile.owners.total() == profile.functions.total()
