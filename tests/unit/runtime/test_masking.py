"""Secrets are taken out of whatever is told: known ones wherever they turn up, others by what they look like."""

import json
from collections.abc import Iterator

import pytest
import structlog
from pydantic import SecretStr

from fanfuse_contracts.addresses import without_login
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime import masking
from fanfuse_runtime.logs import configure_logs, get_logger
from fanfuse_runtime.masking import mask, masked, remember_secrets, secrets_of_config, secrets_of_environment


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    before, numbers = list(masking._known), set(masking.known_numbers)
    yield
    masking._known[:] = before
    masking.known_numbers.clear()
    masking.known_numbers.update(numbers)
    masking._mask_word.cache_clear()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nats://user:hunter2@host:4222 is away", "nats://***@host:4222 is away"),
        ("nats://sometoken@host", "nats://***@host"),
        ("postgresql://u:p%40ss@db/x?sslmode=require", "postgresql://***@db/x?sslmode=require"),
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***"),
        ('{"password": "hunter2", "n": 1}', '{"password": "***", "n": 1}'),
        ("connect(password='hunter2', host='x')", "connect(password='***', host='x')"),
        ("GET /?api_key=abcdef&q=1", "GET /?api_key=***&q=1"),
        ("sent basic dXNlcjpwYXNzd29yZA== and left", "sent basic *** and left"),
        ("a eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbm4ifQ.c2ln b", "a *** b"),
        ("seed SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY end", "seed *** end"),
        ("-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY----- x", "*** x"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, told: str) -> None:
    assert mask(text) == told
    assert mask(told) == told


@pytest.mark.parametrize(
    "text",
    [
        "the token is missing: ask again",
        "mail ann@example.org, see https://example.org/a@b",
        "how does basic auth work?",
        "passwords: 3",
        "no worker of pool vector/main is alive",
        "",
    ],
)
def test_plain_text_stays(text: str) -> None:
    assert mask(text) == text


def test_known_secrets_are_masked_in_every_spelling() -> None:
    remember_secrets(["p@ss/word", "short", "two words", "first\nsecond", "größer"])
    assert mask("a p@ss/word b p%40ss%2Fword c short") == "a *** b *** c short"
    for spelled in ("two+words", "two%20words", "first\nsecond", r"first\nsecond", r"gr\u00f6\u00dfer"):
        assert mask(f"a {spelled} b") == "a *** b"


def test_a_word_that_was_told_before_it_was_known_as_a_secret_is_masked_from_then_on() -> None:
    assert mask("correct-horse") == "correct-horse"
    remember_secrets(["correct-horse"])
    assert mask("correct-horse") == "***"


def test_the_environment_and_the_configuration_say_what_is_secret() -> None:
    environment = {
        "FANFUSE__BACKENDS__VECTOR__MAIN__API_KEY": "key-of-vectors",
        "NATS_URL": "nats://u:of-the-bus@a:4222,nats://u:of-another@b:4222",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-team=collector-key",
        "MAX_OUTPUT_TOKENS": "100000",
        "HOME": "/home/ann",
    }
    assert set(secrets_of_environment(environment)) == {
        "key-of-vectors", "of-the-bus", "of-another", "x-team=collector-key", "collector-key",
    }  # fmt: skip
    config = FanfuseConfig.model_validate(
        {
            "registry": {"store": "postgres", "postgres_dsn": "postgresql://u:of-the-registry@db/x"},
            "backends": {
                "keyword": {"eu": {"engine": "opensearch", "url": "https://e", "username": "u", "password": "of-eu"}}
            },
        }
    )
    found = set(secrets_of_config(config))
    assert {"of-the-registry", "of-eu", "postgresql://u:of-the-registry@db/x"} == found
    assert set(secrets_of_config((SecretStr("a-b-c"), {"k": [SecretStr("d-e-f")]}))) == {"a-b-c", "d-e-f"}


def test_data_is_masked_at_every_depth_and_by_name() -> None:
    data = {"url": "nats://a:b@c", "api_key": "x", "rows": [{"Authorization": "y"}, "password=z"], "n": 1, "t": None}
    assert masked(data) == {
        "url": "nats://***@c", "api_key": "***", "rows": [{"Authorization": "***"}, "password=***"], "n": 1, "t": None,
    }  # fmt: skip


def test_whatever_is_told_is_masked_also_what_is_no_text() -> None:
    remember_secrets(["correct-horse", "12345678"])
    told = masked(
        {
            "correct-horse": 1, "bytes": b"correct-horse", "set": {"correct-horse"},
            "error": OSError("no correct-horse"), "secret": SecretStr("correct-horse"),
            "numbers": [12345678, 1234567, True], "password": 31415926,
        }
    )  # fmt: skip
    assert told == {
        "***": 1, "bytes": "***", "set": ["***"], "error": "no ***", "secret": "***", "numbers": ["***", 1234567, True],
        "password": "***",
    }  # fmt: skip


def test_a_log_line_holds_no_secret_whatever_its_fields_are(capsys: pytest.CaptureFixture[str]) -> None:
    remember_secrets(["correct-horse", "12345678"])
    before = structlog.get_config()
    try:
        configure_logs("info")
        get_logger("bus").info("told", n=7, pin=12345678, why={"keys": {b"correct-horse": OSError("correct-horse")}})
    finally:
        structlog.configure(**before)
    line = json.loads(capsys.readouterr().err)
    assert (line["n"], line["pin"], line["why"]) == (7, "***", {"keys": {"b'***'": "***"}})


def test_addresses_are_told_without_a_login() -> None:
    assert without_login("nats://u:p@a:4222,nats://t@b") == "nats://***@a:4222,nats://***@b"
    assert without_login("nats://127.0.0.1:4222") == "nats://127.0.0.1:4222"
