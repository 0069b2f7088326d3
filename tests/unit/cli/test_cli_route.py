"""`fanfuse route` and the options of the other commands, without a bus."""

from collections.abc import Iterator

import pytest
import structlog
from typer.testing import CliRunner

from fanfuse_cli.main import app
from fanfuse_cli.options import stated_url
from fanfuse_contracts.enums import Kind, Shape
from fanfuse_contracts.plan import DecideReply

RUN = CliRunner()


@pytest.fixture(autouse=True)
def _logs_of_other_tests_stay_theirs() -> Iterator[None]:
    """`up` sets up the process's logs, here on a stream that ends with the call."""
    yield
    structlog.reset_defaults()


def invoke(*arguments: str):
    return RUN.invoke(app, list(arguments), env={"NATS_URL": "", "FANFUSE_DATA_DIR": ""})


def test_a_question_is_semantic_and_leans_on_vectors():
    shown = invoke("route", "What is RAG?")

    assert shown.exit_code == 0
    for line in ("shape semantic", "v=1.50 k=1.00 g=0.80", "selected vector, keyword, graph", "degraded []"):
        assert line in shown.stdout
    assert "bm25_fb False" in shown.stdout


def test_keywords_without_vector_and_graph_fall_back_to_bm25():
    shown = invoke("route", "acme 2024 earnings", "--simulate-failure", "vector", "--no-graph")

    assert shown.exit_code == 0
    for line in ("shape keyword_heavy", "v=0.30 k=1.50 g=0.50", "selected keyword\n", "degraded ['vector']"):
        assert line in shown.stdout
    assert "bm25_fb True" in shown.stdout


def test_names_are_entity_rich():
    assert "shape entity_rich" in invoke("route", "Alice Smith and Acme Corp").stdout


def test_json_is_the_contracts_reply():
    shown = invoke("route", "acme 2024 earnings", "--simulate-failure", "vector", "--no-graph", "--json")
    reply = DecideReply.from_json(shown.stdout.encode())

    assert reply.classification is not None
    assert reply.classification.shape is Shape.KEYWORD_HEAVY
    assert reply.plan is not None
    assert [lane.kind for lane in reply.plan.lanes] == [Kind.KEYWORD]


def test_every_kind_failing_is_refused_with_exit_code_1():
    failures = [part for kind in Kind for part in ("--simulate-failure", kind.value)]
    shown = invoke("route", "What is RAG?", *failures)

    assert shown.exit_code == 1
    assert "rejected unconfirmed" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("route", "x", "--simulate-failure", "disk"), "disk"),
        (("route", "y" * 9_000), "9000 bytes"),
        (("ask", "x", "--tenant", "Not.A.Token"), "Not.A.Token"),
        (("ask", "x", "--tenant", "acme", "--data", "missing"), "fanfuse up"),
        (("ask", "x", "--tenant", "acme", "--filter", "{"), "--filter is not JSON"),
        (("ask", "x", "--tenant", "acme", "--seed", "a", "--no-graph"), "exclude each other"),
        (("ask", "x", "--tenant", "acme", "--role", "admin"), "--role needs --principal"),
        (("ask", "x", "--tenant", "acme", "--nats-url", "nats://127.0.0.1:1"), "no connection to nats://127.0.0.1:1"),
        (("up", "--only", "fuser,printer"), "no service printer"),
        (("up", "--log-level", "loud"), "loud"),
        (("index", "missing-folder", "--tenant", "acme", "--corpus", "docs"), "missing-folder"),
        (("status", "--data", "missing"), "fanfuse up"),
        (("demo", "--vectors", "README.md"), "--vectors needs --data"),
        (("nonsense",), "nonsense"),
    ],
)
def test_usage_and_configuration_errors_are_one_plain_line_and_exit_code_2(arguments, says, tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text("x")
    monkeypatch.chdir(tmp_path)
    shown = invoke(*arguments)

    assert shown.exit_code == 2
    assert says in shown.stderr
    assert "Traceback" not in shown.output
    assert not (tmp_path / ".fanfuse").exists()


@pytest.mark.parametrize(("variable", "stated"), [("", None), ("nats://there:4222", "nats://there:4222")])
def test_a_blank_variable_counts_as_not_stated_and_an_option_wins(variable, stated, monkeypatch):
    """CFG-02: option > environment > default."""
    monkeypatch.setenv("NATS_URL", variable)

    assert stated_url(None) == stated
    assert stated_url("nats://here:4222") == "nats://here:4222"


def test_a_wrong_variable_is_one_plain_line(monkeypatch, tmp_path):
    shown = RUN.invoke(app, ["up", "--data", str(tmp_path)], env={"NATS_URL": "", "FANFUSE_DRAIN_TIMEOUT_S": "soon"})

    assert shown.exit_code == 2
    assert "DRAIN_TIMEOUT_S" in shown.stderr.upper()
    assert "Traceback" not in shown.output
