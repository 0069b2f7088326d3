"""CFG-02: `fanfuse config check` and `config show`: what is effective, what stated it, and what is wrong."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from fanfuse_cli.main import app
from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configfile import load_config

SECRET = "hunter2"


def invoke(*arguments: str, **env: str):
    return CliRunner().invoke(app, ["config", *arguments], env={"FANFUSE_CONFIG_FILE": "", **env})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fanfuse.yaml"
    path.write_text(
        "registry: {store: postgres, postgres_dsn: 'postgresql://u:hunter2@h/d'}\n"
        "retrieval:\n"
        "  routing:\n"
        "    max_corpora: 4\n"
        "corpora:\n"
        "- {id: a, tenant_id: t, card: {readers: [admin]}}\n"
    )
    return path


def test_show_prints_the_effective_configuration_with_origins(file):
    shown = invoke(
        "show", "-f", str(file), "--origin", "--set", "retrieval.routing.fan_out=false",
        FANFUSE__RETRIEVAL__ROUTING__MIN_CORPORA=" 2 ", FANFUSE__RETRIEVAL__ROUTING__MAX_CORPORA="",
    )  # fmt: skip

    assert shown.exit_code == 0
    for line in (
        f"    max_corpora: 4  # {file}:4",
        "    min_corpora: 2  # env FANFUSE__RETRIEVAL__ROUTING__MIN_CORPORA",
        "    fan_out: false  # flag --set retrieval.routing.fan_out",
        "    strategy: learned  # default",
        f"      readers: [admin]  # {file}:6",
    ):
        assert line in shown.stdout.splitlines()


def test_show_masks_secrets_and_reads_back(file):
    shown = invoke("show", "-f", str(file))
    as_json = invoke("show", "-f", str(file), "--json")
    with_origin = json.loads(invoke("show", "-f", str(file), "--json", "--origin").stdout)

    assert SECRET not in shown.output + as_json.output + str(with_origin)
    assert "postgres_dsn: '**********'" in shown.stdout
    assert yaml.safe_load(shown.stdout) == json.loads(as_json.stdout) == with_origin["config"]
    assert with_origin["origin"]["registry.store"] == f"{file}:1"
    assert with_origin["origin"]["corpora[0].card.public"] == "default"
    back = FanfuseConfig.model_validate(yaml.safe_load(shown.stdout))
    assert back.model_copy(update={"registry": None}) == load_config(file, {}).model_copy(update={"registry": None})


def test_check_misses_a_certificate_file_as_a_worker_would(tmp_path):
    """It is looked for beside the file, as the pod's is; worker and check say the same."""
    file = tmp_path / "fanfuse.yaml"
    file.write_text("backends:\n  vector:\n    main: {engine: qdrant, url: 'https://q:6333', ca_file: ca.pem}\n")

    checked = invoke("check", "-f", str(file))
    assert checked.exit_code == 2
    assert f"{file}:3: backends.vector.main.ca_file: there is no file {tmp_path / 'ca.pem'}" in checked.stdout
    (tmp_path / "ca.pem").touch()
    assert invoke("check", "-f", str(file)).exit_code == 0


def test_check_of_a_sound_file(repository):
    checked = invoke("check", "-f", str(repository / "examples/fanfuse.yaml"))

    assert (checked.exit_code, checked.stdout) == (0, "")
    assert "no errors, no warnings" in checked.stderr


def test_the_file_may_be_named_by_the_environment(file):
    assert "max_corpora: 4" in invoke("show", FANFUSE_CONFIG_FILE=str(file)).stdout
    assert "max_corpora: 0" in invoke("show", FANFUSE_CONFIG_FILE="").stdout
    assert invoke("check").exit_code == 0


@pytest.mark.parametrize("command", ["check", "show"])
def test_faults_are_listed_one_a_line(tmp_path, command):
    path = tmp_path / "fanfuse.yaml"
    path.write_text("registry: {stor: x}\nretrieval: {routing: {max_corpora: many}}\n")
    checked = invoke(command, "-f", str(path), "--set", "a=1")

    assert checked.exit_code == 2
    assert [line.partition(": ")[0] for line in checked.stdout.splitlines()] == [
        f"{path}:1",
        f"{path}:2",
        "flag --set a",
    ]
    assert f"{path}: 3 errors" in checked.stderr.replace("\n", "")


def test_what_only_the_classifier_can_say(tmp_path):
    path = tmp_path / "fanfuse.yaml"
    path.write_text(
        "retrieval:\n"
        "  routing:\n"
        "    rules:\n"
        "    - {name: x, corpora: [a], match_regex: '(['}\n"
        "    - {name: y, corpora: [a], match_any: ['?!']}\n"
        "    - {name: z, corpora: [a], match_regex: 'a+'}\n"
        "    scopes:\n"
        "    - {name: s, kind: domain, aliases: ['--']}\n"
        "corpora:\n"
        "- id: a\n"
        "  tenant_id: t\n"
        "  card:\n"
        "    scopes: [s]\n"
        "    cannot_confirm:\n"
        "    - {name: t, match_any: ['…']}\n"
        "    can_answer:\n"
        "    - {name: b, match_any: [b]}\n"
        "    - {name: c, match_any: [c], required: [{name: id, pattern: '(?<=a)b'}]}\n"
    )
    checked = invoke("check", "-f", str(path))

    assert checked.exit_code == 2
    said = [line.removeprefix(f"{path}:") for line in checked.stdout.splitlines()]
    assert [line.split(": ")[0] for line in said] == ["4", "5", "8", "15", "18"]
    assert said[0].startswith("4: retrieval.routing.rules[0]: routing rule 'x': match_regex '([' is not valid RE2: ")
    assert "corpora[0].card.can_answer[1]: corpus 'a': argument 'id' of 'c': pattern" in said[4]
    assert f"{path}: 5 errors, no warnings" in checked.stderr.replace("\n", "")


def test_warnings_do_not_fail_and_misspelt_settings_are_warned_of():
    checked = invoke("check", FANFUSE_ROUTER_INFLIGHT="3", FANFUSE_RETRIEVAL__ROUTING__FAN_OUT="x", FANFUSE_OTHER="1")

    assert checked.exit_code == 0
    assert checked.stdout.splitlines() == [
        "env FANFUSE_RETRIEVAL__ROUTING__FAN_OUT: warning: is read by no process, "
        "did you mean FANFUSE__RETRIEVAL__ROUTING__FAN_OUT?",
        "env FANFUSE_ROUTER_INFLIGHT: warning: is read by no process, did you mean FANFUSE_ROUTER_IN_FLIGHT?",
    ]
