"""`corpus route`, `route -f`, `routing lint` and `ask --like`: decisions over the corpora of a file, without a bus."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fanfuse_cli.main import app
from fanfuse_contracts.enums import Kind, RejectionCode, Strategy
from fanfuse_contracts.plan import DecideReply

RUN = CliRunner()

FILE = """
retrieval:
  routing:
    rules:
      - {name: law, corpora: [legal], match_any: [contract]}
      - {name: never, corpora: [legal], match_any: [zeppelin]}
corpora:
  - id: legal
    tenant_id: acme
    card: {readers: [lawyers], fields: {year: integer}}
    backends: [keyword/main]
  - id: travel
    tenant_id: acme
    card: {public: true}
    term_weights: {flight: 2.0}
  - id: leave
    tenant_id: acme
    card:
      public: true
      source: record
      can_answer:
        - name: balance
          match_any: [days left]
          required: [{name: employee, description: The number of the employee., pattern: 'E[0-9]+'}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fanfuse.yaml"
    path.write_text(FILE)
    return path


def invoke(*arguments: str | Path) -> Result:
    return RUN.invoke(app, list(map(str, arguments)), env={"NATS_URL": "", "FANFUSE_DATA_DIR": ""})


def decided(*arguments: str | Path) -> DecideReply:
    return DecideReply.from_json(invoke(*arguments, "--json").stdout.encode())


def test_corpus_route_shows_strategies_and_one_row_per_candidate(file: Path) -> None:
    shown = invoke("corpus", "route", "a flight", "-f", file)

    assert shown.exit_code == 0
    assert "strategy learned (configured: learned) · 1 of 2 corpora" in shown.stdout
    rows = {line.split()[1]: line for line in shown.stdout.splitlines() if line.startswith(("✓", "·"))}
    assert rows["travel"].startswith("✓")
    assert rows["leave"].startswith("·")
    assert "legal" not in rows


def test_a_role_makes_a_corpus_visible_and_its_rule_fires(file: Path) -> None:
    reply = decided("corpus", "route", "the contract", "-f", file, "--principal", "ann", "--role", "lawyers")

    assert reply.plan is not None
    assert reply.plan.corpus_decision.strategy is Strategy.STATIC_RULES
    assert reply.plan.corpus_decision.selected_corpora == ("legal",)
    assert reply.plan.corpus_decision.scores[0].boosted_by == ("law",)


def test_an_invisible_pin_is_the_error_of_a_corpus_that_does_not_exist(file: Path) -> None:
    unseen = decided("corpus", "route", "x", "-f", file, "-c", "legal").rejection
    absent = decided("corpus", "route", "x", "-f", file, "-c", "nothing").rejection

    assert unseen is not None
    assert absent is not None
    assert unseen.code is absent.code is RejectionCode.UNKNOWN_CORPUS
    assert unseen.message.replace("legal", "nothing") == absent.message


def test_route_over_a_file_shows_the_lanes_of_a_pinned_corpus(file: Path) -> None:
    reply = decided("route", "a flight", "-f", file, "-c", "travel", "--simulate-failure", "vector", "--no-graph")

    assert reply.plan is not None
    assert [lane.kind for lane in reply.plan.lanes] == [Kind.KEYWORD]
    assert reply.plan.decisions[0].bm25_fallback


def test_a_missing_argument_is_named_with_exit_code_1(file: Path) -> None:
    shown = invoke("corpus", "route", "how many days left do I have", "-f", file)

    assert shown.exit_code == 1
    assert "clarify: " in shown.stdout
    assert "missing employee for leave/balance: The number of the employee." in shown.stdout
    assert invoke("corpus", "route", "how many days left has E17", "-f", file).exit_code == 0


def test_a_filter_no_lane_can_apply_is_refused(file: Path) -> None:
    condition = '{"field": "year", "op": "eq", "value": 2024}'
    who = ("--principal", "ann", "--role", "lawyers")

    assert decided("corpus", "route", "x", "-f", file, "-c", "legal", "--filter", condition, *who).plan is not None
    refused = decided("corpus", "route", "x", "-f", file, "-c", "travel", "--filter", condition).rejection
    assert refused is not None
    assert refused.code is RejectionCode.UNSUPPORTED_FILTER


def test_lint_judges_rules_and_corpora_by_the_queries_of_a_file(file: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"text": "a flight"}\n{"text": "the contract"}\n')
    shown = invoke("routing", "lint", "-f", file, "--queries", queries, "--json")

    assert shown.exit_code == 1
    found = {(row["check"], row["message"].split()[1]) for row in json.loads(shown.stdout)}
    assert found == {("rule_never_fires", "'never'"), ("corpus_never_selected", "acme/leave")}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("corpus", "route", "x"), "--file"),
        (("corpus", "route", "x", "-f", "{file}", "--tenant", "globex"), "globex"),
        (("corpus", "route", "x", "-f", "{file}", "--filter", "{{"), "not JSON"),
        (("route", "x", "-c", "legal"), "--file"),
        (("routing", "lint", "-f", "{file}", "--queries", "{file}"), "fanfuse.yaml:1: not a JSON"),
        (("ask", "x", "--tenant", "acme", "--like", "{file}"), "--like"),
        (("ask", "x", "--tenant", "acme", "--like", "{file}", "--corpus", "a"), "say where to search"),
        (("ask", "x", "--tenant", "acme", "--principal", "a", "--principal-token", "b"), "exclude each other"),
    ],
)
def test_usage_errors_are_one_plain_line_with_exit_code_2(file: Path, arguments: tuple[str, ...], says: str) -> None:
    shown = invoke(*(part.format(file=file) for part in arguments))

    assert shown.exit_code == 2
    # The terminal's width breaks a line anywhere.
    assert "".join(says.split()) in "".join(shown.output.replace("│", "").split())
    assert "Traceback" not in shown.output
