"""Bytes are decoded without loss or refused; an encoding that was guessed is never hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_indexing.decoding import UndecodableError, clean, decode, plain_newlines


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-32", "utf-32")],
)
def test_marked_and_plain_unicode(encoding: str, named: str):
    decoded = decode("Grüße, 世界 🙂".encode(encoding))

    assert (decoded.text, decoded.encoding) == ("Grüße, 世界 🙂", named)


def test_utf_16_big_endian_by_its_mark():
    assert decode(b"\xfe\xff" + "hé".encode("utf-16-be")).text == "hé"


def test_windows_1252_is_named():
    assert decode(b"it\x92s").text == "it’s"
    assert decode(b"it\x92s").encoding == "cp1252"


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfeh",
        b"\xff\xfe\x00\xd8",
        "plain".encode("utf-16-le"),
        b"it\x81s",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        b"caf\xe9 \x01\x02",
        b"\xef\xbb\xbfcaf\xe9",
    ],
)
def test_what_is_not_surely_text_is_refused_with_a_reason(data: bytes):
    with pytest.raises(UndecodableError, match=r"\w+"):
        decode(data)


@given(data=st.binary(max_size=60))
def test_decoding_loses_no_byte(data: bytes):
    try:
        decoded = decode(data)
    except UndecodableError:
        return
    marks = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff", b"\xef\xbb\xbf")
    if not data.startswith(marks):
        assert decoded.text.encode(decoded.encoding) == data


@given(text=st.text(alphabet=st.characters(codec=None, categories=None)))
def test_clean_text_encodes_and_keeps_its_length(text: str):
    assert len(clean(text).encode()) >= len(text)
    assert len(clean(text)) == len(text)


def test_newlines_become_line_feeds():
    assert plain_newlines("a\r\nb\rc\n") == "a\nb\nc\n"
