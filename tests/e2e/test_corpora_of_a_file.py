"""The operators' file and the registry, as commands: seed, index and ask with each place the registry can be in."""

import json
from pathlib import Path

import pytest

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_testing.postgres import PASSWORD, PostgresServer

pytestmark = pytest.mark.slow

CORPORA = """\
corpora:
  - id: docs
    tenant_id: acme
    display_name: Documents
    card: {public: true, fields: {year: integer}}
  - {id: legal, tenant_id: acme, card: {readers: [lawyer], source: policy}}
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(registry: str, corpora: str = CORPORA) -> str:
        path = tmp_path / "fanfuse.yaml"
        path.write_text(f"registry: {registry}\n{corpora}")
        return str(path)

    return write


def cards(installation, *arguments: str) -> dict[str, CorpusCard]:
    said = installation.must_call("corpus", "list", "--json", *arguments)
    return {card.corpus: card for card in (CorpusCard.model_validate(row) for row in json.loads(said))}


def asked(installation) -> Answer:
    done = installation.must_call(
        "ask", "How many days of holiday?", "--tenant", "acme", "--json", "--budget-ms", "20000"
    )
    return Answer.from_json(done.encode())


def test_seeding_says_what_it_did_and_does_nothing_twice(installation, acme_docs, write):
    file = write("{store: kv}")
    installation.up()
    dry = installation.must_call("corpus", "seed", "-f", file, "--dry-run").splitlines()
    assert dry == ["created acme/docs", "created acme/legal"]
    assert cards(installation) == {}
    assert installation.must("corpus", "seed", "-f", file).splitlines() == dry
    installation.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "-f", file)
    again = installation.must_call("corpus", "seed", "-f", file).splitlines()
    assert again == ["unchanged acme/docs", "unchanged acme/legal"]
    found = cards(installation)
    assert (found["docs"].display_name, found["docs"].chunks, found["docs"].public) == ("Documents", 3, True)
    assert found["docs"].fields["year"].value == "integer"
    assert asked(installation).hits[0].title.startswith("Annual leave")

    one = write("{store: kv}", CORPORA.replace("Documents", "Papers").partition("  - {id: legal")[0])
    rows = json.loads(installation.must_call("corpus", "seed", "-f", one, "--prune", "--json"))
    assert rows == [
        {"corpus": "acme/docs", "change": "changed", "fields": ["display_name"]},
        {"corpus": "acme/legal", "change": "pruned", "fields": []},
    ]
    assert cards(installation) == {"docs": found["docs"].model_copy(update={"display_name": "Papers"})}


def test_with_the_registry_in_the_file_there_is_nothing_to_seed_and_index_works(installation, acme_docs, write):
    file = write("{store: memory}")
    assert set(cards(installation, "-f", file)) == {"docs", "legal"}
    assert not installation.data.exists(), "listing a file needs no bus"
    installation.up("--file", file)
    refused = installation.call("corpus", "seed", "-f", file)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "nothing to seed" in refused.stderr
    installation.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "-f", file)
    assert asked(installation).hits[0].title.startswith("Annual leave")
    assert cards(installation, "-f", file)["docs"].chunks == 3
    private = installation.fanfuse(
        "index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--private", "-f", file
    )
    assert private.returncode == 2
    assert "public of corpus docs" in private.stderr


def test_with_the_registry_in_postgres(installation, acme_docs, write, own_postgres: PostgresServer):
    file = write(f"{{store: postgres, postgres_dsn: '{own_postgres.dsn()}'}}")
    installation.up("--file", file)
    installation.must("corpus", "seed", "-f", file)
    installation.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "-f", file)
    assert asked(installation).hits[0].title.startswith("Annual leave")
    assert cards(installation, "-f", file)["docs"].chunks == 3
    assert cards(installation) == {}, "the bucket of the bus is another registry"


@pytest.mark.parametrize("arguments", [("up", "--file"), ("corpus", "seed", "-f")], ids=["up", "seed"])
def test_a_database_that_is_away_is_one_plain_line_without_its_password(installation, write, arguments):
    file = write(f"{{store: postgres, postgres_dsn: 'postgresql://fanfuse:{PASSWORD}@127.0.0.1:1/x'}}")
    refused = installation.fanfuse(*arguments, file)
    assert refused.returncode == 2
    assert "the database of registry.postgres_dsn does not serve" in refused.stderr.splitlines()[-1]
    assert "Traceback" not in refused.stderr
    assert PASSWORD not in refused.stdout + refused.stderr
