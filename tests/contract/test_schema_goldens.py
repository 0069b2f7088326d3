"""The JSON schema of every wire model equals its golden file, so that no wire change goes unnoticed.

After a deliberate change run `python tests/contract/test_schema_goldens.py`, and read the diff of the goldens.
"""

import json
from pathlib import Path

import pytest

from fanfuse_contracts import answer, chunks, config, corpus, flow, health, operations, plan, quality, query, retrieval
from fanfuse_contracts.base import Event, Model, Written
from fanfuse_contracts.classification import QueryClassified

GOLDENS = Path(__file__).parent / "goldens" / "schemas"
MODELS: tuple[type[Model], ...] = (
    query.SubmittedQuery,
    QueryClassified,
    plan.QueryPlanned,
    plan.RetrieveCommand,
    plan.DecideRequest,
    plan.DecideReply,
    retrieval.LaneReply,
    retrieval.ChunksRequest,
    retrieval.ChunksReply,
    answer.Answer,
    health.BackendOutcome,
    health.BackendState,
    health.ProbeRequest,
    health.ProbeReply,
    health.Heartbeat,
    operations.RouteAudited,
    quality.QualityMeasured,
    operations.DeadLetter,
    corpus.CorpusCard,
    chunks.Chunk,
    config.FanfuseConfig,
)


def schema_text(model: type[Model]) -> str:
    return json.dumps(model.model_json_schema(), indent=1, sort_keys=True) + "\n"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_schema_equals_golden(model: type[Model]) -> None:
    assert schema_text(model) == (GOLDENS / f"{model.__name__}.json").read_text()


def test_every_message_of_the_flow_has_a_golden() -> None:
    messages = {part for channel in flow.CHANNELS for part in (channel.message, channel.reply) if part is not None}
    assert messages <= set(MODELS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_written_models_forbid_unknown_fields_and_events_carry_a_version(model: type[Model]) -> None:
    extra = model.model_config["extra"]
    if issubclass(model, Written):
        assert extra == "forbid"
    elif issubclass(model, Event):
        assert extra == "ignore"
        assert "schema_version" in model.model_fields
    assert model.model_config["frozen"]


if __name__ == "__main__":
    GOLDENS.mkdir(parents=True, exist_ok=True)
    for wire_model in MODELS:
        (GOLDENS / f"{wire_model.__name__}.json").write_text(schema_text(wire_model))
