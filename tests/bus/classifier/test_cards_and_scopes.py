"""Capability cards and scopes through the running classifier."""

import asyncio
import json
from typing import Any

import pytest
import structlog

from fanfuse_classifier.service import build
from fanfuse_contracts.classification import AskedCapability, CorpusScore, Effect, FiredRule, ScopeSignal
from fanfuse_contracts.corpus import CorpusCard
from fanfuse_contracts.query import SubmittedQuery
from fanfuse_runtime.compose import compose
from fanfuse_runtime.configfile import ConfigError
from fanfuse_runtime.settings import RuntimeSettings
from tests.bus.classifier.asking import classified, register, submit


def card(pattern=r"\bEMP-\d+\b", **fields):
    required = [{"name": "employee", "pattern": pattern}]
    asked = {"name": "leave-balance", "match_any": ["leave balance"], "required": required}
    topic = {"name": "salaries", "match_any": ["salary"]}
    return CorpusCard.model_validate(
        {"tenant": "acme", "corpus": "records", "can_answer": [asked], "cannot_confirm": [topic]} | fields
    )


def settings(nats_server, folder, **routing):
    file = folder / "fanfuse.yaml"
    file.write_text(json.dumps({"retrieval": {"routing": routing}}))
    return RuntimeSettings(nats_url=nats_server.url, config_file=file)


HR = {"name": "hr", "kind": "domain", "aliases": ["human resources"], "boost": 2.0}


async def test_what_a_card_and_the_scopes_say_of_a_text_is_published(nats_server, client, tmp_path):
    async with compose(build, settings=settings(nats_server, tmp_path, scopes=[HR])) as process:
        await register(client, process, card(scopes=["hr"]))
        text = "Human Resources: leave balance and salary of EMP-7"
        await submit(client, "q1", SubmittedQuery(text=text).to_json())
        event = await classified(client, "q1")

    assert event.scopes == (ScopeSignal(scope="hr", alias="human resources"),)
    assert event.corpus_scores == (
        CorpusScore(
            corpus="records",
            score=3.0,
            fired=(
                FiredRule(rule="scope:hr", effect=Effect.BOOST, amount=2.0),
                FiredRule(rule="capability:leave-balance", effect=Effect.BOOST, amount=1.0),
            ),
            asked=(AskedCapability(capability="leave-balance", matched=("leave balance",), found=("employee",)),),
            cannot_confirm=("salaries",),
        ),
    )


async def test_a_named_capability_is_asked_of_the_corpus_that_has_it(process, client):
    await register(client, process, card())
    await submit(client, "q1", SubmittedQuery(text="and EMP-8?", capability="leave-balance").to_json())
    [row] = (await classified(client, "q1")).corpus_scores

    assert row.asked == (AskedCapability(capability="leave-balance", matched=(), found=("employee",)),)


async def test_a_changed_card_counts_without_a_restart(process, client):
    await register(client, process, card())
    await register(client, process, card(pattern=r"\bP\d+\b"))
    await submit(client, "q1", SubmittedQuery(text="leave balance of P9").to_json())
    [row] = (await classified(client, "q1")).corpus_scores

    assert row.asked[0].found == ("employee",)


async def test_a_card_with_a_faulty_pattern_is_used_without_it_and_told_of_once(process, client):
    with structlog.testing.capture_logs() as logs:
        await register(client, process, card(pattern="(["))
        for number in range(3):
            await submit(client, f"q{number}", SubmittedQuery(text="leave balance ([").to_json())
        events = [await classified(client, f"q{number}") for number in range(3)]

    assert all(event.corpus_scores[0].asked[0].found == () for event in events)
    [told] = [log for log in logs if log["event"] == "classifier.card_fault"]
    assert told["key"] == "acme.records"
    assert "argument 'employee' of 'leave-balance': pattern '([' is not valid RE2" in told["fault"]


async def test_a_pathological_pattern_of_a_card_holds_nobody_up(process, client):
    """CLS-06, for cards: twenty ordinary queries right behind it are classified in time."""
    await register(client, process, card(pattern="(a+)+b"))
    evil = SubmittedQuery(text="leave balance " + "a" * 40 + "X")
    await submit(client, "evil", evil.to_json())
    for number in range(20):
        await submit(client, f"q{number}", SubmittedQuery(text=f"leave balance {number} aab").to_json())
    events = await asyncio.gather(*(classified(client, f"q{number}") for number in range(20)))
    slow = await classified(client, "evil")

    assert slow.corpus_scores[0].asked[0].found == ()
    assert slow.hops[0].took_ms < 10_000, "a backtracking engine would take hours"
    assert all(event.corpus_scores[0].asked[0].found == ("employee",) for event in events)


FAULTY: dict[str, dict[str, Any]] = {
    "scope 'hr': alias '--' holds no letter": {"scopes": [HR | {"aliases": ["--"]}]},
    r"routing rule 'wide': match_regex .* is too costly": {
        "rules": [{"name": "wide", "corpora": ["records"], "match_regex": r"\pL{30}"}]
    },
}


@pytest.mark.parametrize("why", FAULTY)
async def test_a_faulty_scope_or_a_costly_rule_stops_the_start(nats_server, tmp_path, why):
    """CLS-06: by name."""
    with pytest.raises(ConfigError, match=why):
        async with compose(build, settings=settings(nats_server, tmp_path, **FAULTY[why])):
            pass


async def test_a_profile_that_can_not_be_read_stops_the_start(nats_server, tmp_path):
    """Its path is relative to the configuration's file, wherever the process was started."""
    with pytest.raises(ConfigError, match=rf"{tmp_path}/trained/profile\.json: can't be read"):
        async with compose(build, settings=settings(nats_server, tmp_path, profile="trained/profile.json")):
            pass
