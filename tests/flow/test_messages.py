"""A real flow speaks on every channel of the contract, and says nothing that the contract does not know."""

import json

import pytest

from fanfuse_testing.flow import Flow
from tests.flow.airships import FIELDS, library
from tests.flow.capture_messages import TENANT, capture, models

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_channel_is_used_and_every_message_is_of_its_model(flow: Flow) -> None:
    await flow.index(TENANT, "docs", library(), FIELDS)
    captured = await capture(flow)
    assert captured.keys() == models().keys()
    for name, model in models().items():
        subject, body = captured[name]
        if model is None:
            assert body == b"", subject
        else:
            assert json.loads(model.from_json(body).to_json()) == json.loads(body), subject
