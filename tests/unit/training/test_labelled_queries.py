"""Files of labelled queries: what is wrong is told with file and line."""

import hashlib

import pytest

from fanfuse_training.labelled import (
    LabelledError,
    LabelledQuery,
    check_for_test,
    check_for_training,
    count_per_corpus,
    read_labelled,
)

GOOD = '{"text": "wing flutter", "corpus": "aero", "lang": "en", "shape": "ignored"}'


def written(tmp_path, *lines):
    path = tmp_path / "labelled.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_text_corpus_and_language_are_read_and_blank_lines_skipped(tmp_path):
    path = written(tmp_path, GOOD, "", '{"text": "基金", "corpus": "news"}', "")

    labelled = read_labelled(path)

    assert labelled.queries == (LabelledQuery("wing flutter", "aero", "en"), LabelledQuery("基金", "news"))
    assert labelled.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert labelled.corpora == ("aero", "news")
    assert count_per_corpus(labelled.queries) == {"aero": 1, "news": 1}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"corpus": "aero"}', "'text' must be a text"),
        ('{"text": "  ", "corpus": "aero"}', "'text' must be a text"),
        ('{"text": 7, "corpus": "aero"}', "'text' must be a text"),
        ('{"text": "wing"}', "'corpus' must be a text"),
        ('{"text": "wing", "corpus": "Aero Space"}', "'Aero Space' is no corpus id"),
        ('{"text": "wing", "corpus": "aero", "lang": 3}', "'lang' must be a text"),
    ],
)
def test_a_bad_row_is_told_with_file_and_line(tmp_path, line, told):
    path = written(tmp_path, GOOD, "", line)

    with pytest.raises(LabelledError) as caught:
        read_labelled(path)

    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert told in str(caught.value)


def test_bytes_that_are_no_text_are_a_bad_row(tmp_path):
    path = tmp_path / "labelled.jsonl"
    path.write_bytes(b'{"text": "\xff", "corpus": "aero"}')

    with pytest.raises(LabelledError, match="line 1: not JSON"):
        read_labelled(path)


def test_a_missing_and_an_empty_file(tmp_path):
    with pytest.raises(LabelledError, match="can't be read"):
        read_labelled(tmp_path / "nowhere.jsonl")
    with pytest.raises(LabelledError, match="holds no query"):
        read_labelled(written(tmp_path, ""))


def test_one_corpus_is_no_choice(tmp_path):
    with pytest.raises(LabelledError, match="all queries are of corpus 'aero'"):
        check_for_training(read_labelled(written(tmp_path, *[GOOD] * 9)))


def test_a_corpus_with_too_few_queries_is_named(tmp_path):
    few = '{"text": "recipe", "corpus": "food"}'

    with pytest.raises(LabelledError, match="every corpus needs 5 queries, but food has 4: label more"):
        check_for_training(read_labelled(written(tmp_path, *[GOOD] * 9, *[few] * 4)))


def test_a_test_query_of_a_corpus_that_was_not_trained(tmp_path):
    labelled = read_labelled(written(tmp_path, GOOD))

    check_for_test(labelled, ("aero",))
    with pytest.raises(LabelledError, match="corpus 'aero' has no query to train on"):
        check_for_test(labelled, ("food", "news"))
