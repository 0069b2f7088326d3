"""Engine servers named by the operators' file, as commands: index, ask, an outage, delete."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.enums import Kind, LaneOutcome
from tests.flow.server_flow import engine_servers
from tests.servers.noida import NoidaServer
from tests.servers.qdrant import QdrantShim

pytestmark = pytest.mark.slow

SECRET = "hunter2"


@pytest.fixture
def servers() -> Iterator[tuple[QdrantShim, NoidaServer]]:
    with engine_servers() as started:
        yield started


@pytest.fixture
def file(tmp_path: Path, servers: tuple[QdrantShim, NoidaServer]) -> str:
    qdrant, search = servers
    path = tmp_path / "fanfuse.yaml"
    path.write_text(
        f"backends:\n"
        f"  vector: {{main: {{engine: qdrant, url: '{qdrant.url}', api_key: {SECRET}}}}}\n"
        f"  keyword: {{main: {{engine: elasticsearch, url: '{search.url}', username: u, password: {SECRET}}}}}\n"
        f"corpora:\n"
        f"  - {{id: docs, tenant_id: acme, card: {{public: true}}, backends: [vector/main, keyword/main]}}\n"
    )
    return str(path)


def asked(installation) -> Answer:
    done = installation.must_call(
        "ask", "How many days of holiday?", "--tenant", "acme", "--json", "--budget-ms", "20000"
    )
    return Answer.from_json(done.encode())


def test_a_corpus_on_servers_from_its_file_to_its_end(installation, acme_docs, servers, file):
    qdrant, search = servers
    installation.up("--file", file)
    installation.must("corpus", "seed", "-f", file)
    indexing = installation.fanfuse("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "-f", file)
    assert (indexing.returncode, indexing.stdout.split(":")[0]) == (0, "indexed 3 documents as 3 chunks")
    assert "acme/docs: to vector/main" in indexing.stderr
    assert "acme/docs: to keyword/main" in indexing.stderr
    answer = asked(installation)
    assert answer.hits[0].title.startswith("Annual leave")
    assert {lane.kind: lane.outcome for lane in answer.coverage.lanes} == {
        Kind.VECTOR: LaneOutcome.ANSWERED,
        Kind.KEYWORD: LaneOutcome.ANSWERED,
    }
    assert {request.headers["api-key"] for request in qdrant.seen} == {SECRET}

    search.kill()
    again = installation.fanfuse("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "-f", file)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "not usable now: keyword/main (unavailable" in again.stderr
    partial = asked(installation)
    assert partial.hits
    assert {part.kind for hit in partial.hits for part in hit.contributions} == {Kind.VECTOR}

    search.start()
    gone = installation.fanfuse("delete", "--tenant", "acme", "--corpus", "docs", "-f", file)
    assert (gone.returncode, gone.stdout.split(";")[0]) == (0, "deleted 3 chunks of acme/docs, the corpus is gone")
    said = indexing.stdout + indexing.stderr + again.stderr + gone.stderr + json.dumps(answer.model_dump(mode="json"))
    assert SECRET not in said
    unstated = installation.fanfuse("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs")
    assert unstated.returncode == 2
    assert "vector/main and keyword/main are on an engine server" in unstated.stderr
    assert "give their file with -f" in unstated.stderr


def test_a_missing_certificate_is_one_plain_line(installation, acme_docs, tmp_path):
    file = tmp_path / "fanfuse.yaml"
    file.write_text("backends: {vector: {main: {engine: qdrant, url: 'https://127.0.0.1:9', ca_file: none.pem}}}\n")
    for command in (
        ("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "-f", str(file)),
        ("up", "--file", str(file)),
    ):
        refused = installation.fanfuse(*command)
        assert refused.returncode == 2
        said = refused.stderr.splitlines()[-1]
        assert said == f"fanfuse: backends.vector.main.ca_file: there is no file {tmp_path}/none.pem"
