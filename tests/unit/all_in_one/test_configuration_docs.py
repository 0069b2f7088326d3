"""docs/configuration.md holds every key of the file and every setting of a process, each with its meaning."""

from functools import cache

import pytest

from fanfuse_all_in_one.configuration_docs import default_of, meaning_of, render_configuration, shown, type_of
from fanfuse_all_in_one.process_settings import SETTINGS, all_settings
from fanfuse_contracts.backends import BackendConfig
from fanfuse_contracts.config import RoutingConfig
from fanfuse_contracts.metrics_config import MetricsConfig
from fanfuse_contracts.registration import CardConfig, CorpusConfig
from fanfuse_runtime.configuration.keys import all_keys
from fanfuse_runtime.configuration.overrides import variable_of


@cache
def rows() -> dict[str, list[str]]:
    cells = [line.strip("|").split(" | ") for line in render_configuration().splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [cell.strip() for cell in row] for row in cells}


@pytest.mark.parametrize("key", all_keys(), ids=lambda key: shown(key.path))
def test_every_key_has_a_row_with_meaning_and_variable(key):
    row = rows()[shown(key.path)]

    assert len(row) == 5
    assert row[1]
    assert len(row[3]) > 5
    plain_section = key.section is not None and row[1] == "section"
    assert row[4] == ("" if key.in_list or plain_section else f"`{variable_of(key.path)}`")


def test_every_setting_of_a_process_has_a_row():
    page = render_configuration()

    for setting in all_settings():
        for variable in setting.variables:
            assert f"`{variable}`" in page
    assert "| `NATS_URL`, `FANFUSE_NATS_URL` | every process | text | `nats://127.0.0.1:4222` |" in page
    assert len(SETTINGS) == 6


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (RoutingConfig, "max_corpora", "whole number ≥ 0"),
        (RoutingConfig, "score_threshold", "number ≥ 0, ≤ 1"),
        (RoutingConfig, "unconstrained_corpus", "id or null"),
        (RoutingConfig, "fan_out", "true or false"),
        (RoutingConfig, "profile", "path or null"),
        (BackendConfig, "weight", "number ≥ 0, ≤ 1,000,000"),
        (CardConfig, "fields", "mapping to `string`, `integer`, `float`, `boolean`, `strings`"),
        (CardConfig, "fallbacks", "list of id"),
        (CorpusConfig, "term_weights", "mapping to number"),
        (MetricsConfig, "corpora", "list of text, at most 50"),
        (MetricsConfig, "tenant_classes", "mapping to list of id, at most 16"),
    ],
)
def test_types_in_words(owner, name, words):
    assert type_of(owner, name) == words


def test_defaults_and_meanings_are_those_of_the_model():
    assert default_of(RoutingConfig.model_fields["learned_temperature"]) == "`1.0`"
    assert default_of(CorpusConfig.model_fields["id"]) == "required"
    assert default_of(RoutingConfig.model_fields["profile"]) == ""
    assert meaning_of(RoutingConfig, "max_corpora") == "Most corpora that are selected. 0: unbounded."
    assert meaning_of(RoutingConfig, "nothing") == ""
