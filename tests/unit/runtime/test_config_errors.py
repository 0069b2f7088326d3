"""Whatever is wrong with a file is told with line, key and what to do; all of it at once, and no secret with it."""

import json
import logging
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from fanfuse_contracts.config import FanfuseConfig
from fanfuse_runtime.configfile import ConfigError, load_config, read_config
from fanfuse_runtime.configuration.document import read_document
from fanfuse_runtime.configuration.rendering import plain, render

SECRET = "hunter2"
DSN = f"postgresql://user:{SECRET}@db.example/fanfuse"


@pytest.fixture
def refusal(tmp_path: Path):
    """What is said of a file, without its folder."""

    def refusal(content: str | bytes, env: dict[str, str] | None = None) -> list[str]:
        path = tmp_path / "f.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ConfigError) as refused:
            load_config(path, env or {})
        return str(refused.value).replace(f"{tmp_path}/", "").splitlines()

    return refusal


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("retreival: {}", "f.yaml:1: retreival: unknown key, did you mean 'retrieval'?"),
        ("corpora:\n- id: a\n  tenant: t", "f.yaml:3: corpora[0].tenant: unknown key, did you mean 'tenant_id'?"),
        ("security: {keys: {}}", "unknown key; known here: principal_keys, require_signed_principal"),
        ("routing: {}", "f.yaml:1: routing: 'routing' does not stand here but at retrieval.routing"),
        ("\nmax_corpora: 3", "f.yaml:2: max_corpora: 'max_corpora' does not stand here but at retrieval.routing.max_"),
        ("corpora:\n- {id: a, tenant_id: t, public: true}", "but at corpora[0].card.public"),
        ("registry: {}\nregistry: {}", "f.yaml:2: registry: the key stands twice, first on line 1: keep one"),
        ("retrieval:\n\trouting: {}", "f.yaml:2: a tab: indent with spaces"),
        ("a: {}\nb: [", "is no YAML"),
        ("a: {}\n---\nb: {}", "f.yaml:2: a second document begins here: a file holds one"),
        ("", "f.yaml:1: the file is empty: write '{}' if the defaults are meant"),
        ("# nothing\n---\n", "f.yaml:1: the file is empty"),
        ("- a", "f.yaml:1: the file must be a mapping of sections"),
        ("text", "f.yaml:1: the file must be a mapping of sections"),
        (b"registry:\n  store: \xff", "f.yaml:2: is not UTF-8 (byte 0xff): save the file as UTF-8"),
        ("a: \x07", "the character U+0007 may not stand in a YAML file"),
        ("retrieval: {routing: {max_corpora: '3'}}", "should be a whole number, not text"),
        ("retrieval: {routing: {max_corpora: 1.5}}", "should be a whole number"),
        ("retrieval: {routing: {max_corpora: 010}}", "a number with a leading zero or a colon is read in several ways"),
        ("retrieval: {routing: {max_cost: 1:30.0}}", "a number with a colon is read in several ways"),
        ("retrieval: {routing: {fan_out: 1}}", "should be true or false, not a number"),
        ("retrieval: {routing: {max_cost: .nan}}", "should be a finite number"),
        ("retrieval: {routing: {rules: {}}}", "should be a list, not a mapping"),
        ("retrieval: {routing: []}", "should be a section of keys, not a list: known keys are fan_out, learned_temp"),
        ("retrieval:\n  routing:", "f.yaml:2: retrieval.routing: should be a section of keys, not blank: leave it out"),
        ("corpora: [{id: 5, tenant_id: t}]", "corpora[0].id: should be text, not a number: put it in quotes"),
        ("corpora: [{id: a, tenant_id: no}]", "tenant_id: should be text, not true or false: put it in quotes"),
        ("corpora: [{id: a}]", "f.yaml:1: corpora[0].tenant_id: is missing"),
        ("registry: {store: memroy}", "should be one of kv, memory, postgres; did you mean 'memory'?"),
        ("retrieval: {routing: {strategy: unconstrained}}", "should be one of explicit, static_rules, learned, all"),
        ("corpora: [{id: a, tenant_id: t, backends: [bm25/x]}]", "backends[0]: does not have the form"),
        ("retrieval: {quorum: {t: {graf: may}}}", "retrieval.quorum.t.graf: unknown key, did you mean 'graph'?"),
        ("retrieval: {quorum: {t: {graph: mst}}}", "should be one of must, should, may; did you mean 'must'?"),
        ("corpora: [{id: a, tenant_id: t, quorum: {keywrd: must}}]", "quorum.keywrd: unknown key, did you mean"),
        (
            "corpora: [{id: a, tenant_id: t, quorum: {backends: {keyword/mian: must}}}]",
            "corpora[0].quorum.backends['keyword/mian']: corpus 'a' has no backend keyword/mian; "
            "did you mean 'keyword/main'? its backends: vector/main, keyword/main, graph/main",
        ),
        (
            "corpora: [{id: a, tenant_id: t, backends: [keyword/main], quorum: {graph: may}}]",
            "corpora[0].quorum.graph: corpus 'a' has no graph backend; its backends: keyword/main",
        ),
        ("registry: !ruby/object {}", "a YAML tag is not supported"),
        ("registry: {store: !env STORE}", "a YAML tag is not supported"),
        ("? [a, b]\n: c", "a key must be a word"),
        ("registry: {<<: kv}", "'<<' takes a mapping, or a list of mappings"),
        ("registry: *base", "is no YAML: found undefined alias"),
        ("&a registry: {store: *b}", "is no YAML: found undefined alias"),
    ],
)
def test_a_fault_is_told_with_its_place(refusal, text, said):
    lines = refusal(text)

    assert all(line.startswith("f.yaml:") for line in lines)
    assert any(said in line for line in lines), lines


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(ConfigError, match=f"{path}: cannot be read: "):
            load_config(path, {})


def test_every_fault_is_told_in_the_order_of_the_file(refusal):
    text = """\
registry: {store: kv, stor: kv}
retrieval:
  routing:
    min_corpora: 3
    max_corpora: 2
    rules:
      - {name: x, corpora: [a]}
      - {name: x, corpora: [a]}
      - {name: y, corpora: [a], boost: 0}
corpora:
  - {id: a, tenant_id: t, backends: [vector/eu, vector/main, vector/main]}
  - {id: a, tenant_id: t, card: {public: "yes", readers: []}}
  - {id: A, tenant_id: t}
"""
    assert [line.split(": ")[:2] for line in refusal(text)] == [
        ["f.yaml:1", "registry.stor"],
        ["f.yaml:9", "retrieval.routing.rules[2].boost"],
        ["f.yaml:11", "corpora[0].backends[2]"],
        ["f.yaml:12", "corpora[1].card.public"],
        ["f.yaml:13", "corpora[2].id"],
    ]
    sound = text.replace("stor: kv", "").replace("boost: 0", "").replace('"yes"', "true").replace("id: A", "id: b")
    again = refusal(sound.replace(", vector/main, vector/main", ""))
    assert [line.split(": ")[:2] for line in again] == [
        ["f.yaml:5", "retrieval.routing.max_corpora"],
        ["f.yaml:8", "retrieval.routing.rules[1].name"],
    ]
    more = refusal(
        sound.replace("max_corpora: 2", "max_corpora: 5")
        .replace("{name: x", "{name: z", 1)
        .replace(", vector/main, vector/main", "")
    )
    assert [line.split(": ")[:2] for line in more] == [
        ["f.yaml:11", "corpora[0].backends[0]"],
        ["f.yaml:12", "corpora[1].id"],
    ]


def test_what_a_card_refuses_is_told_with_its_corpus(refusal):
    assert refusal("corpora:\n- {id: b, tenant_id: t}\n- {id: a, tenant_id: t, card: {fallbacks: [a]}}") == [
        "f.yaml:3: corpora[1]: corpus 'a' cannot stand in for itself"
    ]


def test_every_tab_is_told(refusal):
    assert refusal("registry:\n\tstore: kv\nretrieval:\n\trouting: {}\n") == [
        "f.yaml:2: a tab: indent with spaces",
        "f.yaml:4: a tab: indent with spaces",
    ]


def test_anchors_and_merge_keys_are_fine(tmp_path):
    text = """\
corpora:
  - &base {id: a, tenant_id: t, display_name: A, card: &card {public: true, fields: {no: string}}}
  - {<<: *base, id: b, display_name: B}
  - {<<: [{tenant_id: u}, *base], id: c, card: {<<: *card, public: false}}
"""
    (tmp_path / "f.yaml").write_text(text)
    loaded = read_config(tmp_path / "f.yaml", {})

    a, b, c = loaded.config.corpora
    assert (a.card, b.id, b.tenant_id, b.display_name, c.tenant_id, c.display_name) == (b.card, "b", "t", "B", "u", "A")
    assert (c.card.public, list(c.card.fields)) == (False, ["no"])
    assert loaded.origin(("corpora", 1, "tenant_id")).endswith("f.yaml:2")
    assert loaded.origin(("corpora", 1, "id")).endswith("f.yaml:3")


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}]}}\n" for level in range(1, 12)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        MERGES,
        "a: &a [*a]\n",
        "a: &a {<<: *a}\n",
        "[" * 50_000,
        "a: " + "[" * 200 + "]" * 200,
        "".join(f"a{level}: &a{level} [*a{level - 1}]\n" if level else "a0: &a0 x\n" for level in range(5_000)),
    ],
    ids=["aliases", "merges", "itself", "merges itself", "open brackets", "brackets", "a chain of aliases"],
)
def test_what_unfolds_without_end_is_refused_at_once(refusal, text):
    before = time.process_time()
    lines = refusal(text)

    assert len(lines) == 1
    assert any(word in lines[0] for word in ("unfold", "nested", "is no YAML"))
    assert time.process_time() - before < 5.0


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbfregistry: {}")
@example(b'a: "\\ud800"')
@example(b"a: !!binary x\nb: !!set {a}\nc: !!int x\nd: " + b"9" * 5_000)
@example(b"a: .nan")
@example(b"%YAML 3.0\n---\na")
def test_any_bytes_are_data_or_findings(raw):
    document = read_document(raw, "f.yaml")

    assert document.findings or not document.broken
    assert repr(json.loads(json.dumps(document.data))) == repr(document.data)
    assert all(finding.where.startswith("f.yaml:") for finding in document.findings)


LEAKS = [
    f"registry: {{store: kv, postgres_dsn: '{DSN}'}}",
    f"registry:\n  store: '{DSN}'",
    f"registry: {{store: postgres, dsn: '{DSN}'}}",
    f"postgres_dsn: '{DSN}'",
    f"registry: '{DSN}'",
    f"registry: ['{DSN}']",
    f"registry: {{'{DSN}': x}}",
    f"registry: {{store: postgres, postgres_dsn: ['{DSN}']}}",
    f"registry: {{store: postgres, postgres_dsn: {{a: '{DSN}'}}}}",
    f"registry:\n  postgres_dsn: {DSN}: x: y",
    f"registry:\n  postgres_dsn: *{SECRET}",
    f"registry:\n  postgres_dsn: !{SECRET} x",
    f"registry:\n\tpostgres_dsn: {DSN}",
    f"registry:\n  postgres_dsn: '{DSN}",
    f'registry:\n  postgres_dsn: "{DSN}\\q"',
    f"registry:\n  postgres_dsn: {DSN}\n  postgres_dsn: {DSN}",
    f"registry:\n  postgres_dsn: {DSN}\n---\n{DSN}: x",
    f"registry:\n  postgres_dsn: {DSN}\nx: \x07",
    f"security: {{principal_keys: {{t: [{{kid: a, public_key: {SECRET}}}]}}}}",
    f"security: {{principal_keys: {{t: [{{kid: a, public_key: {SECRET * 200}}}]}}}}",
    f"security: {{principal_keys: {{t: [{{kid: a, public_key: '-----BEGIN PRIVATE KEY----- {SECRET}'}}]}}}}",
    f"security: {{principal_keys: {SECRET}}}",
    f"backends: {{keyword: {{eu: {{engine: qdrant, password: {SECRET}, username: u}}}}}}",
    f"backends: {{keyword: {{eu: {{engine: opensearch, url: 'https://u:{SECRET}@h'}}}}}}",
    f"backends: {{keyword: {{eu: {{engine: opensearch, url: 'https://h', api_key: {SECRET}}}}}}}",
    f"backends: {{keyword: {{eu: {{api_key: [{SECRET}]}}}}}}",
    f"backends: {{keyword: {{eu: {{password: {{{SECRET}: x}}}}}}}}",
    f"backends: {{keyword: {{eu: {{passwort: {SECRET}}}}}}}",
]


@pytest.mark.parametrize("text", LEAKS)
def test_no_message_holds_a_secret(tmp_path, caplog, text):
    (tmp_path / "f.yaml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "f.yaml", {})
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").error("refused", exc_info=refused.value)

    assert "refused" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in repr(refused.value)


@pytest.mark.parametrize("key", ["REGISTRY__POSTGRES_DSN", "REGISTRY__STORE", "REGISTRY__DSN", "REGISTRY", "CORPORA"])
def test_no_message_about_the_environment_holds_a_secret(key):
    with pytest.raises(ConfigError) as by_variable:
        load_config(None, {f"FANFUSE__{key}": DSN})
    with pytest.raises(ConfigError) as by_flag:
        load_config(None, {}, [f"{key.lower().replace('__', '.')}={DSN}"])

    assert SECRET not in str(by_variable.value) + str(by_flag.value)


def test_a_valid_secret_is_masked_in_every_form():
    env = {"FANFUSE__REGISTRY__POSTGRES_DSN": DSN, "FANFUSE__REGISTRY__STORE": "postgres"}
    loaded = read_config(None, env)
    config = loaded.config
    forms = (
        repr(config), str(loaded), str(config.model_dump()), config.model_dump_json(), config.to_json().decode(),
        render(config, loaded.origin), str(plain(config)),
    )  # fmt: skip

    assert config.registry.postgres_dsn is not None
    assert config.registry.postgres_dsn.get_secret_value() == DSN
    assert all(SECRET not in form and "postgres_dsn" in form for form in forms)


def test_the_model_alone_keeps_secrets_too():
    for wrong in ({"postgres_dsn": DSN}, {"store": DSN}, {"store": "postgres", "postgres_dsn": DSN, "x": 1}):
        with pytest.raises(ValidationError) as refused:
            FanfuseConfig.model_validate({"registry": wrong})
        assert SECRET not in str(refused.value)
