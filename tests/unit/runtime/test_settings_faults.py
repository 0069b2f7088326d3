"""A setting that can't be used is told by the variables that state it, on a line of its own, never with a secret."""

from pathlib import Path

import pytest

from fanfuse_backend_workers.settings import WorkerSettings
from fanfuse_health.settings import HealthSettings
from fanfuse_runtime.settings import ProcessSettings, RuntimeSettings, SettingsError

CASES = {
    "FANFUSE_OPS_PORT: Input should be a valid integer": {"FANFUSE_OPS_PORT": "x"},
    "NATS_URL or FANFUSE_NATS_URL: http://***@bus is no address of a bus": {"FANFUSE_NATS_URL": "http://me:secret@bus"},
    "FANFUSE_NATS_NKEY: /absent.nk can't be read: No such file or directory": {"FANFUSE_NATS_NKEY": "/absent.nk"},
    "FANFUSE_NATS_PASSWORD, FANFUSE_NATS_USER: a password needs": {"FANFUSE_NATS_PASSWORD": "secret"},
    "FANFUSE_NATS_PASSWORD, FANFUSE_NATS_CREDS: a password, an nkey and a credentials file exclude each other": {
        "FANFUSE_NATS_PASSWORD": "secret", "FANFUSE_NATS_CREDS": __file__,
    },
    "FANFUSE_NATS_CERT_FILE, FANFUSE_NATS_KEY_FILE: a client certificate": {"FANFUSE_NATS_CERT_FILE": __file__},
    "FANFUSE_NATS_CA_FILE: the certificates or the key can't be used": {"FANFUSE_NATS_CA_FILE": __file__},
}  # fmt: skip


@pytest.mark.parametrize("told", CASES)
def test_a_fault_names_its_variables(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CASES[told].items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        RuntimeSettings()
    assert str(refused.value).startswith(told)
    assert "secret" not in str(refused.value)


def test_every_fault_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFUSE_STREAM_REPLICAS", "9")
    monkeypatch.setenv("FANFUSE_TRACE_SAMPLE", "2")
    with pytest.raises(SettingsError) as refused:
        RuntimeSettings(nats_nkey=Path(__file__))
    assert [line.partition(":")[0] for line in str(refused.value).splitlines()] == [
        "FANFUSE_STREAM_REPLICAS", "FANFUSE_TRACE_SAMPLE",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "variable"), [(WorkerSettings, "FANFUSE_WORKER_POOLS"), (HealthSettings, "FANFUSE_HEALTH_WINDOW_S")]
)
def test_settings_of_a_service_do_the_same(
    settings: type[ProcessSettings], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "x")
    with pytest.raises(SettingsError, match=f"^{variable}: "):
        settings()
