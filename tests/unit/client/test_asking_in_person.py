"""Tokens, clarifications and earlier decisions, through the client to a stand-in service."""

import pytest

from fanfuse_client import Client, InvalidQuery
from fanfuse_contracts import headers
from fanfuse_contracts.enums import Status
from fanfuse_contracts.query import Principal, StickyDecision
from fanfuse_contracts.sticky import sticky_of
from tests.unit.client.stand_in import DECIDED, SEEN, UNCLEAR

TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbm5hIn0.c2ln"


async def test_a_token_travels_in_its_header_alone(process, nats_server):
    """And instead of the client's principal: two that differ would be refused."""
    async with Client(nats_server.url, "acme", principal=Principal(id="ben")) as client:
        await client.ask("a", principal_token=TOKEN)
        await client.submit("b", principal_token=TOKEN)
        await client.decide("c", principal_token=TOKEN)
        [_] = [answered async for answered in client.stream(["d"], principal_token=TOKEN)]
        await client.ask("e")

    carried = {query.text: (query.principal, header.get(headers.PRINCIPAL)) for _, query, header in SEEN}
    assert carried == dict.fromkeys("abcd", (None, TOKEN)) | {"e": (Principal(id="ben"), None)}
    assert all(headers.TRACEPARENT in header for _, _, header in SEEN)


@pytest.mark.parametrize(
    "token", ["", "secret", "secret.secret", f"{TOKEN}\r\nNats-Msg-Id: x", f"{TOKEN} ", "secret." * 2_000 + "x"]
)
async def test_what_is_no_token_is_refused_before_it_is_sent_and_not_repeated(client, token):
    with pytest.raises(InvalidQuery, match="principal_token is no compact JWT") as refused:
        await client.ask("a", principal_token=token)

    assert "secret" not in str(refused.value)
    assert SEEN == []


async def test_a_clarification_is_an_answer_and_one_of_its_options_the_reply(client):
    answer = await client.ask("leave")

    assert (answer.status, answer.hits) == (Status.CLARIFY, ())
    assert answer.clarification == UNCLEAR
    assert (await client.decide("leave")).clarification == UNCLEAR
    again = await client.ask("leave", capability=answer.clarification.options[1].capability)
    assert again.status is Status.COMPLETE
    assert SEEN[-1][1].capability == "leave-balance"


async def test_the_next_query_may_stay_with_the_decision_of_an_answer(client):
    answer = await client.ask("first")
    await client.ask("second", decision=sticky_of(answer.decisions))

    assert SEEN[-1][1].decision == StickyDecision.model_validate(
        {"shape": "semantic", "corpora": [{"corpus": "docs", "weight": 0.75, "weights": {"vector": 1.5}}]}
    )


async def test_a_pin_beside_a_decision_is_refused_before_it_is_sent(client):
    with pytest.raises(InvalidQuery, match="send one of them"):
        await client.ask("x", corpora=("docs",), decision=sticky_of((DECIDED,)))

    assert SEEN == []
