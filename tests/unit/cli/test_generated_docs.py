"""docs/flow.md and docs/asyncapi.json are generated from contracts, and fresh."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fanfuse_all_in_one.asyncapi import address_of, build_asyncapi
from fanfuse_all_in_one.docs import main, render_flow
from fanfuse_contracts import limits, subjects
from fanfuse_contracts.flow import CHANNELS, SERVER
from fanfuse_contracts.metrics import METRICS
from fanfuse_contracts.streams import BUCKETS, CONSUMERS, STREAMS


def test_the_committed_documents_are_fresh(repository):
    assert main(["--check", "--folder", str(repository / "docs")]) == 0


def test_check_says_which_is_stale_and_changes_nothing(tmp_path, capsys):
    assert main(["--folder", str(tmp_path)]) == 0
    assert main(["--check", "--folder", str(tmp_path)]) == 0
    (tmp_path / "flow.md").write_text("old")

    assert main(["--check", "--folder", str(tmp_path)]) == 1
    assert "flow.md is stale" in capsys.readouterr().err
    assert (tmp_path / "flow.md").read_text() == "old"


@pytest.mark.parametrize(
    "name",
    [
        *(address_of(channel) for channel in CHANNELS),
        *(stream.name for stream in STREAMS),
        *(consumer.durable for consumer in CONSUMERS),
        *(bucket.name for bucket in BUCKETS),
        *(metric.name for metric in METRICS),
        *(limit for limit in vars(limits) if limit.isupper()),
    ],
)
def test_flow_page_holds_every_name(name):
    assert f"`{name}`" in render_flow() or f"| {name} |" in render_flow()


def test_addresses_name_every_wildcard():
    for channel in CHANNELS:
        fixed = [token for token in channel.subject.split(".") if token not in {"*", ">"}]
        address = address_of(channel)
        assert address.split(".")[: len(fixed)] == fixed
        if ">" not in channel.subject:
            assert address.count("{") == channel.subject.count("*")
    assert f"{subjects.ROOT}.query.fused.{{tenant}}.{{query_id}}" in {address_of(channel) for channel in CHANNELS}


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_asyncapi_document_is_sound():
    document = json.loads(json.dumps(build_asyncapi()))

    assert document["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= document["info"].keys()
    for reference in references(document):
        assert reference.startswith("#/")
        node = document
        for part in reference[2:].split("/"):
            node = node[part]
    for name, channel in document["channels"].items():
        if not name.endswith("_reply"):
            assert all(f"{{{parameter}}}" in channel["address"] for parameter in channel["parameters"])
    for operation in document["operations"].values():
        assert operation["action"] in {"send", "receive"}
    sends = sum(who != SERVER for channel in CHANNELS for who in channel.publishers)
    receives = sum(len(channel.subscribers) for channel in CHANNELS)
    assert len(document["operations"]) == sends + receives
