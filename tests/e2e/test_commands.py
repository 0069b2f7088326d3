"""The README's commands on a running installation: index, ask, decide, delete, status, two tenants, exit codes."""

import json
import signal

import pytest

from fanfuse_contracts.answer import Answer
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.enums import Kind, RejectionCode, Stage, Status
from fanfuse_contracts.plan import DecideReply


@pytest.fixture(scope="module", autouse=True)
def two_tenants(running, acme_docs, tmp_path_factory):
    """acme: public documents; globex: a corpus for its finance role, from JSONL."""
    said = running.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--public")
    assert "indexed 3 documents as 3 chunks: acme/docs (public)" in said
    secret = {"_id": "g1", "title": "Budget", "text": "Globex plans a budget of nine million.", "year": 2026}
    source = tmp_path_factory.mktemp("globex") / "finance.jsonl"
    source.write_text(json.dumps(secret) + "\n")
    running.must("index", str(source), "--tenant", "globex", "--corpus", "finance", "--reader", "finance")


def ask(running, *arguments: str) -> tuple[int, Answer]:
    done = running.call("ask", *arguments, "--json")
    assert done.stdout.count("\n") == 1, done.stderr
    return done.returncode, Answer.from_json(done.stdout.encode())


def test_ask_shows_a_table_with_coverage(running):
    shown = running.must("ask", "How many days of holiday do employees take?", "--tenant", "acme", "--trace")

    for part in ("complete", "Annual leave", "vector #1", "keyword #1", "coverage: ", "bm25_fallback: False", "fuser"):
        assert part in shown


def test_ask_names_its_query_for_explain_and_takes_an_id_of_ones_own(running):
    question = ("How many days of holiday do employees take?", "--tenant", "acme")
    shown = running.must_call("ask", *question)
    (line,) = (line for line in shown.splitlines() if line.startswith("query id "))
    query_id = line.split()[2]
    assert f"{query_id} of acme: complete" in running.must_call("explain", query_id, "--tenant", "acme")

    first, again = (ask(running, *question, "--query-id", "mine")[1] for _ in range(2))
    assert first.query_id == "mine"
    assert again == first, "the stored answer"
    refused = running.call("ask", *question, "--query-id", "Not a token")
    assert refused.returncode == 2
    assert "'Not a token' is not valid" in refused.stderr


def test_ask_names_pinned_corpora_that_are_unknown(running):
    question = ("How many days of holiday do employees take?", "--tenant", "acme")
    shown = running.must_call("ask", *question, "--corpus", "docs", "--corpus", "nosuch")
    assert "complete" in shown
    assert "pinned by the caller; unknown corpus 'nosuch'" in shown


def test_json_is_the_contracts_answer(running):
    question = ("How many days of holiday do employees take?", "--tenant", "acme", "--top-k", "2")
    done = running.fanfuse("ask", *question, "--json")
    answer = Answer.from_json(done.stdout.encode())

    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert answer.status is Status.COMPLETE
    assert len(answer.hits) == 2
    assert answer.hits[0].title.startswith("Annual leave")
    assert answer.hits[0].text is not None


def test_pages_join(running):
    _, both = ask(running, "coffee machine holiday travel", "--tenant", "acme", "--top-k", "2")
    _, second = ask(running, "coffee machine holiday travel", "--tenant", "acme", "--top-k", "1", "--offset", "1")

    assert second.hits[0].chunk_id == both.hits[1].chunk_id
    assert second.hits[0].rank == 2


def test_decide_plans_without_running(running):
    shown = running.call("decide", "What is the rule for train tickets?", "--tenant", "acme", "--json")
    reply = DecideReply.from_json(shown.stdout.encode())

    assert shown.returncode == 0
    assert reply.plan is not None
    assert {lane.kind for lane in reply.plan.lanes} >= {Kind.VECTOR, Kind.KEYWORD}
    # A corpus without relations: its graph counts a quarter (ADR 0020).
    assert "weights v=1.50 k=1.00 g=0.20" in running.must_call("decide", "What is the rule?", "--tenant", "acme")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tenant", "globex"),
        ("--tenant", "globex", "--principal", "anna", "--role", "sales"),
        ("--tenant", "globex", "--principal", "anna", "--role", "sales", "--corpus", "finance"),
        ("--tenant", "acme", "--corpus", "finance"),
        ("--tenant", "nobody"),
    ],
)
def test_what_a_principal_may_not_read_does_not_exist_for_it(running, arguments):
    code, answer = ask(running, "budget of nine million", *arguments)

    assert code == 1
    assert answer.hits == ()
    assert answer.rejection is not None
    assert answer.rejection.code in {RejectionCode.NO_VISIBLE_CORPUS, RejectionCode.UNKNOWN_CORPUS}
    assert "nine million" not in answer.to_json().decode().replace("budget of nine million", "")


def test_the_reader_finds_it_and_a_filter_holds(running):
    who = ("--tenant", "globex", "--principal", "anna", "--role", "finance")
    _, found = ask(running, "budget", *who, "--filter", '{"field": "year", "op": "eq", "value": 2026}')
    _, none = ask(running, "budget", *who, "--filter", '{"field": "year", "op": "lt", "value": 2026}')

    assert [hit.chunk_id for hit in found.hits] == ["g1"]
    assert none.hits == ()
    assert none.status is Status.COMPLETE


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("ask", "x", "--tenant", "acme", "--top-k", "1000"), 2, "top_k"),
        (("ask", "x", "--tenant", "acme", "--filter", '{"field": "f", "op": "in", "value": 1}'), 2, "list of values"),
        (("ask", "", "--tenant", "acme"), 1, ""),
        (("ask", "x", "--tenant", "acme", "--filter", '{"field": "nope", "op": "eq", "value": 1}'), 1, ""),
        (("delete", "--tenant", "acme", "--corpus", "nope"), 2, "no corpus nope"),
        (("delete", "--tenant", "acme", "--corpus", "docs", "--id", "no-such"), 2, "no chunk or document 'no-such'"),
        (("index", "/no/such/path", "--tenant", "acme", "--corpus", "docs"), 2, "/no/such/path"),
    ],
)
def test_exit_codes(running, arguments, code, says):
    done = running.call(*arguments)

    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 1 or "Usage" in done.stderr


@pytest.mark.parametrize(("text", "options", "code"), [("x", ("--top-k", "1000"), 2), ("", (), 1)])
def test_exit_codes_of_a_process(running, text, options, code):
    done = running.fanfuse("ask", text, "--tenant", "acme", *options)

    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_source_without_text_changes_nothing(running, tmp_path):
    (tmp_path / "empty.md").write_text("\n")
    done = running.fanfuse("index", str(tmp_path), "--tenant", "acme", "--corpus", "docs")
    _, answer = ask(running, "holiday", "--tenant", "acme")

    assert done.returncode == 2
    assert "no text to index" in done.stderr
    assert len(answer.hits) == 3


def test_corpus_list_and_status(running):
    cards = [CorpusCard.model_validate(card) for card in json.loads(running.must_call("corpus", "list", "--json"))]
    assert {(card.tenant, card.corpus) for card in cards} >= {("acme", "docs"), ("globex", "finance")}
    only = running.must_call("corpus", "list", "--tenant", "globex")
    assert "finance" in only
    assert "docs" not in only

    ask(running, "How many days of holiday do employees take?", "--tenant", "acme")
    shown = running.must_call("status")
    for stage in Stage:
        assert stage.value in shown
    for part in ("QUERIES", "worker-vector-main", "1 of 1", "vector/main", "bm25_fallback 0.0%", "docs"):
        assert part in shown
    seen = json.loads(running.must_call("status", "--json"))
    assert [row["service"] for row in seen["services"]] == [stage.value for stage in Stage]
    assert {(row["kind"], row["state"]) for row in seen["backends"]} == {(kind.value, "healthy") for kind in Kind}
    assert seen["answers"]["answers"] > 0


def test_a_mark_is_seen_everywhere_until_it_is_cleared(running):
    said = running.must_call("health", "mark", "vector/main", "--for", "5m", "--reason", "disk [swap]", "--by", "alice")
    assert said == "vector/main is degraded for 5m: disk [swap]\n"
    for shown in (running.must_call("health", "list"), running.must_call("status")):
        for part in ("degraded", "in 4m", "alice", "disk [swap]"):
            assert part in shown
    (row,) = [one for one in json.loads(running.must_call("health", "list", "--json")) if one["kind"] == "vector"]
    assert (row["manual"], row["set_by"], row["until_s"]) == (True, "alice", 300.0)
    assert 200.0 < row["left_s"] < 300.0

    reply = DecideReply.from_json(running.must_call("decide", "holiday", "--tenant", "acme", "--json").encode())
    assert reply.plan is not None
    assert {lane.kind for lane in reply.plan.skipped if lane.fallback_reason} == {Kind.VECTOR}
    refused = running.call("health", "probe", "vector/main")
    assert (refused.returncode, "not probed now; disk [swap]" in refused.stdout) == (1, True)

    assert running.must_call("health", "clear", "vector/main", "--reason", "done") == "vector/main is healthy: done\n"
    _, answer = ask(running, "How many days of holiday do employees take?", "--tenant", "acme")
    assert answer.status is Status.COMPLETE


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("mark", "vector/mian", "--reason", "x"), "known are graph/main, keyword/main, vector/main"),
        (("mark", "vektor/main", "--reason", "x"), "is no backend"),
        (("mark", "vector/main", "--reason", "x", "--for", "5 min"), "is no duration"),
        (("mark", "vector/main", "--reason", "x", "--for", "0s"), "more than 0s"),
        (("mark", "vector/main", "--reason", "a\x1b[2J"), "reason is not valid"),
        (("mark", "vector/main", "--reason", " "), "reason is not valid"),
        (("mark", "vector/main", "--reason", "x", "--by", ""), "by is not valid"),
        (("clear", "vector/main", "--reason", "x" * 501), "reason is not valid"),
        (("probe", "vector/mian"), "known are graph/main, keyword/main, vector/main"),
        (("clear", "vector"), "is no backend"),
    ],
)
def test_a_mark_that_means_nothing_is_refused(running, arguments, part):
    done = running.call("health", *arguments)
    assert done.returncode == 2
    assert part in " ".join(done.stderr.replace("│", "").split())


def test_status_can_be_watched(running):
    watching = running.start("status", "--watch", "--every", "0.2", "--json")
    looks = [json.loads(watching.stdout.readline()) for _ in range(3)]
    watching.send_signal(signal.SIGINT)
    assert watching.wait(20) == 130
    assert [len(look["instances"]) for look in looks] == [5, 5, 5]


def test_deleted_chunks_are_returned_by_nothing(running, acme_docs):
    running.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "short", "--public")
    pinned = ("--tenant", "acme", "--corpus", "short")
    _, before = ask(running, "When is the espresso machine cleaned?", *pinned)
    gone = before.hits[0].chunk_id

    said = running.must_call("delete", "--tenant", "acme", "--corpus", "short", "--id", gone)
    assert "deleted 1 chunks of acme/short, 2 left; 1 stored answers removed" in said
    _, after = ask(running, "When is the espresso machine cleaned?", *pinned)
    assert gone not in {hit.chunk_id for hit in after.hits}
    assert len(after.hits) == 2

    assert "the corpus is gone" in running.must_call("delete", *pinned)
    code, answer = ask(running, "espresso", *pinned)
    assert code == 1
    assert answer.rejection is not None
    assert answer.rejection.code is RejectionCode.UNKNOWN_CORPUS
