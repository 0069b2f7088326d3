"""CFG-02: flag > environment > file > default; blank is unset; every value tells what stated it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_contracts.config import FanfuseConfig, StaticRule
from fanfuse_contracts.enums import Strategy
from fanfuse_contracts.filters import Op
from fanfuse_runtime.configfile import ConfigError, LoadedConfig, load_config, read_config
from fanfuse_runtime.configuration.document import read_document
from fanfuse_runtime.configuration.findings import KeyPath
from fanfuse_runtime.configuration.rendering import render
from fanfuse_runtime.settings import RuntimeSettings

MAX: KeyPath = ("retrieval", "routing", "max_corpora")
IN_ENV = "FANFUSE__RETRIEVAL__ROUTING__MAX_CORPORA"
IN_FLAG = "retrieval.routing.max_corpora"
TEXT = "retrieval:\n  routing:\n    max_corpora: 4\n"


@pytest.fixture
def read(tmp_path: Path):
    """Reads a text as a file, under these variables and flags."""

    def read(text: str | None = None, env: dict[str, str] | None = None, flags: tuple[str, ...] = ()) -> LoadedConfig:
        path = None if text is None else tmp_path / "fanfuse.yaml"
        if path is not None:
            path.write_text(text or "", encoding="utf-8")
        return read_config(path, env or {}, flags)

    return read


@pytest.mark.parametrize(
    ("text", "env", "flags", "value", "origin"),
    [
        (None, {}, (), 0, "default"),
        (TEXT, {}, (), 4, "fanfuse.yaml:3"),
        (TEXT, {IN_ENV: "3"}, (), 3, f"env {IN_ENV}"),
        (TEXT, {IN_ENV: "3"}, (f"{IN_FLAG}=2",), 2, f"flag --set {IN_FLAG}"),
        (TEXT, {}, (f"{IN_FLAG}=2", f"{IN_FLAG}=1"), 1, f"flag --set {IN_FLAG}"),
        (None, {IN_ENV: "3"}, (), 3, f"env {IN_ENV}"),
        (TEXT, {IN_ENV: ""}, (), 4, "fanfuse.yaml:3"),
        (TEXT, {IN_ENV: "  "}, (), 4, "fanfuse.yaml:3"),
        (None, {IN_ENV: ""}, (), 0, "default"),
        (TEXT, {IN_ENV: " 60 "}, (), 60, f"env {IN_ENV}"),
    ],
)
def test_precedence(read, text, env, flags, value, origin):
    loaded = read(text, env, flags)

    assert loaded.config.retrieval.routing.max_corpora == value
    assert loaded.origin(MAX).endswith(origin)


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("fan_out", "false", False),
        ("fan_out", " No ", False),
        ("fan_out", "TRUE", True),
        ("score_threshold", " 0.25", 0.25),
        ("max_cost", "3", 3.0),
        ("strategy", "all", Strategy.ALL),
        ("unconstrained_corpus", "null", None),
        ("unconstrained_corpus", "handbook", "handbook"),
        ("rules", '[{"name": "x", "corpora": ["a"], "boost": 2}]', (StaticRule(name="x", corpora=("a",), boost=2.0),)),
    ],
)
def test_values_of_the_environment(read, key, written, value):
    routing = read(env={f"FANFUSE__RETRIEVAL__ROUTING__{key.upper()}": written}).config.retrieval.routing

    assert getattr(routing, key) == value


def test_names_of_the_operator_and_lists_of_words(read):
    text = "backends:\n  keyword:\n    eu: {pool: slow, weight: 0.5}\n"
    env = {"FANFUSE__BACKENDS__KEYWORD__EU__POOL": "fast", "FANFUSE__BACKENDS__KEYWORD__EU__OPERATORS": '["eq"]'}
    loaded = read(text, env | {"FANFUSE__BACKENDS__VECTOR": '{"us": {"weight": 2}}'})

    eu = loaded.config.backends.keyword["eu"]
    assert (eu.pool, eu.weight, eu.operators) == ("fast", 0.5, {Op.EQ})
    assert loaded.config.backends.vector["us"].weight == 2.0
    assert loaded.origin(("backends", "keyword", "eu", "weight")).endswith("fanfuse.yaml:3")
    assert loaded.origin(("backends", "keyword", "eu", "pool")) == "env FANFUSE__BACKENDS__KEYWORD__EU__POOL"
    assert loaded.origin(("backends", "vector", "us", "weight")) == "env FANFUSE__BACKENDS__VECTOR"
    assert loaded.origin(("backends", "vector", "us", "pool")) == "default"


def test_the_part_of_a_mapping_is_stated_over_the_whole(read):
    env = {"FANFUSE__BACKENDS__VECTOR": '{"us": {"weight": 2}}', "FANFUSE__BACKENDS__VECTOR__US__WEIGHT": "3"}

    assert read(env=env).config.backends.vector["us"].weight == 3.0


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
@pytest.mark.parametrize(
    "name",
    ["CORPORA", "SECURITY__PRINCIPAL_KEYS", "SECURITY__REQUIRE_SIGNED_PRINCIPAL", "BACKENDS__KEYWORD__EU__OPERATORS"],
)
def test_a_blank_variable_never_widens_what_a_file_allows(read, name, blank):
    text = (
        "security:\n  require_signed_principal: true\n  principal_keys:\n"
        "    acme: [{kid: a, public_key: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo}]\n"
        "backends: {keyword: {eu: {operators: [eq]}}}\n"
        "corpora: [{id: secrets, tenant_id: acme, card: {readers: [admin]}}]\n"
    )

    assert read(text, {f"FANFUSE__{name}": blank}).config == read(text).config


@pytest.mark.parametrize("readers", ['""', '[""]', '["  "]', "null"])
def test_blank_readers_are_refused_wherever_they_stand(read, readers):
    corpora = f'[{{"id": "a", "tenant_id": "acme", "card": {{"readers": {readers}}}}}]'

    for stated in ({"text": f"corpora: {corpora}\n"}, {"env": {"FANFUSE__CORPORA": corpora}}):
        with pytest.raises(ConfigError, match=r"corpora\[0\]\.card\.readers"):
            read(**stated)


def test_what_is_no_key_of_ours_is_ignored(read, tmp_path, monkeypatch):
    (tmp_path / ".env").write_text(f"{IN_ENV}=9\nOTHER=1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    unrelated = {"OPENAI_API_KEY": "x", "FANFUSE_ROUTER_IN_FLIGHT": "8", "PATH": "/bin", "RETRIEVAL__ROUTING": "{}"}

    assert read(TEXT, unrelated).config == read(TEXT).config


def test_the_environment_of_the_process_is_the_default(tmp_path, monkeypatch):
    (tmp_path / "fanfuse.yaml").write_text(TEXT, encoding="utf-8")
    monkeypatch.setenv(IN_ENV, "7")

    assert load_config(tmp_path / "fanfuse.yaml").retrieval.routing.max_corpora == 7
    assert load_config(None).retrieval.routing.max_corpora == 7
    assert load_config(None, {}) == FanfuseConfig()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("FANFUSE__RETRIEVAL__ROUTING__MAX_CORPRA", f"did you mean {IN_ENV}?"),
        ("FANFUSE__ROUTING__MAX_CORPORA", f"did you mean {IN_ENV}?"),
        ("FANFUSE__MAX_CORPORA", f"did you mean {IN_ENV}?"),
        ("FANFUSE__RETRIEVAL", "is a section: state one of its keys (fusion, probe_on_decide, quorum, routing)"),
        ("FANFUSE__CORPORA__0__ID", "corpora is a list: state the whole of it as JSON"),
        ("FANFUSE__retrieval__routing__max_corpora", f"variables are written in capitals: {IN_ENV}"),
        ("FANFUSE__", "known here: backends, corpora, metrics, pressure, registry, retrieval, security"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest_one(read, name, hint):
    with pytest.raises(ConfigError) as refused:
        read(TEXT, {name: "3"})

    assert str(refused.value).startswith(f"env {name}: ")
    assert hint in str(refused.value)


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        ("retrieval.routing.max_corpra=3", "did you mean retrieval.routing.max_corpora?"),
        ("retrieval.routing=3", "is a section"),
        (IN_FLAG, "has no value"),
        (f"{IN_FLAG}=", "has no value"),
        ("corpora=x", "should be JSON"),
        ("corpora=3", "should be a list or a mapping as JSON"),
        ('backends.vector={"a": {}, "a": {}}', "stands twice"),
        ("backends.vector=NaN", "no values"),
        (f"{IN_FLAG}=many", "should be a whole number, not text"),
    ],
)
def test_a_faulty_flag_is_refused(read, flag, hint):
    with pytest.raises(ConfigError) as refused:
        read(TEXT, flags=(flag,))

    assert str(refused.value).startswith(f"flag --set {flag.partition('=')[0]}: ")
    assert hint in str(refused.value)


def test_every_fault_of_file_environment_and_flags_is_told_at_once(read):
    with pytest.raises(ConfigError) as refused:
        read("retrieval: {routing: {min_corpora: none}}", {IN_ENV: "x", "FANFUSE__A": "1"}, ("b=1",))

    origins = [line.split(": ")[0] for line in str(refused.value).splitlines()]
    assert [origin.rpartition("/")[2] for origin in origins] == [
        "fanfuse.yaml:1",
        "env FANFUSE__A",
        f"env {IN_ENV}",
        "flag --set b",
    ]


def test_a_profile_is_relative_to_what_states_it(read, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    text = "retrieval: {routing: {profile: models/p.json}}\n"

    assert read(text).config.retrieval.routing.profile == tmp_path / "models/p.json"
    env = {"FANFUSE__RETRIEVAL__ROUTING__PROFILE": "p.json"}
    assert read(text, env).config.retrieval.routing.profile == Path("/p.json")


def test_a_certificate_file_is_relative_to_what_states_it(read, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    text = "backends: {vector: {eu: {engine: qdrant, url: 'https://h', ca_file: certs/ca.pem}}}\n"

    assert read(text).config.backends.vector["eu"].ca_file == tmp_path / "certs/ca.pem"
    env = {"FANFUSE__BACKENDS__VECTOR__EU__CA_FILE": "ca.pem"}
    assert read(text, env).config.backends.vector["eu"].ca_file == Path("/ca.pem")
    with pytest.raises(ConfigError, match=r"backends\.vector\.eu: should be a section"):
        read("backends: {vector: {eu: x}}")


def test_nats_url_unset_or_blank_is_the_default(monkeypatch):
    monkeypatch.delenv("NATS_URL", raising=False)
    unset = RuntimeSettings().nats_url
    monkeypatch.setenv("NATS_URL", "")

    assert RuntimeSettings().nats_url == unset == "nats://127.0.0.1:4222"


def test_what_is_shown_reads_back(read, repository):
    loaded = read((repository / "examples/fanfuse.yaml").read_text(encoding="utf-8"))
    shown = render(loaded.config, loaded.origin)

    assert read(shown).config == loaded.config
    assert "max_corpora: 4  # " in shown
    assert all("  # " in line or line.endswith(":") for line in shown.splitlines())


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@given(words, words)
def test_any_text_reads_back(name, description):
    corpus = {"id": "a", "tenant_id": "t", "display_name": name, "description": description}
    config = FanfuseConfig.model_validate({"corpora": [corpus]})
    document = read_document(render(config).encode(), "shown.yaml")

    assert document.findings == []
    assert FanfuseConfig.model_validate(document.data) == config
