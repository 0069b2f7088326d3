"""HTML: headings part the text, what no reader sees is no text, encodings are as browsers take them."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfuse_indexing import Code
from fanfuse_indexing.documents import Piece
from fanfuse_indexing.extracted import ExtractionError
from fanfuse_indexing.web_pages import pieces_of_html, read

PAGE = """<!doctype html><html><head><title>The  guide</title><style>p {color: red}</style>
<script>var hidden = "no text";</script></head><body>
<nav><a href="/">Home</a> <a href="/x">Elsewhere</a></nav>
<p>Before any heading.</p>
<h1>Install <em>it</em></h1><p>Take<br>the&nbsp;<b>box</b>.</p>
<h2>Linux</h2>
<ul><li>one</li><li>two <a href="x">linked</a></li></ul><noscript>Turn it on</noscript>
<pre>  if x:
    y()</pre>
<h2>Windows</h2><h3>Eleven</h3><table><tr><th>key</th><th>value</th></tr><tr><td>a</td><td>1</td></tr></table>
<img src="data:image/png;base64,AAAA" alt="A picture of it"><script>more()</script>
</body></html>"""


def pieces(markup: str) -> list[Piece]:
    return list(pieces_of_html(markup, "page.html"))


def test_sections_by_heading_without_script_style_and_navigation():
    assert [(piece.fragment, piece.title, piece.text) for piece in pieces(PAGE)] == [
        ("", "The guide", "Before any heading."),
        ("install-it", "Install it", "Install it\n\nTake\nthe\xa0box."),
        ("install-it/linux", "Install it › Linux", "Linux\n\n- one\n- two linked\n\n  if x:\n    y()"),
        (
            "install-it/windows/eleven",
            "Install it › Windows › Eleven",
            "Windows\n\nEleven\n\nkey | value\na | 1\n\nA picture of it",
        ),
    ]


def test_the_closest_heading_is_metadata():
    assert [piece.metadata for piece in pieces(PAGE)] == [
        {},
        {"heading": "Install it"},
        {"heading": "Linux"},
        {"heading": "Eleven"},
    ]


def test_without_a_title_it_is_called_by_its_file():
    assert [piece.title for piece in pieces("<p>text")] == ["page.html"]


def test_broken_markup_keeps_its_text():
    assert [piece.text for piece in pieces("<div><p>one<div>two</p></i><td>three &lt;b&gt; &amp;")] == [
        "one\n\ntwo\n\nthree <b> &"
    ]


def test_lists_of_paragraphs_and_blanks_between_words():
    markup = "<ul><li><p>one</p><p>more</p></li><li></li><li>two</ul>\n a \n <b> b</b>c<hr>d"

    assert [piece.text for piece in pieces(markup)] == ["- one\n\nmore\n\n- two\n\na bc\n\nd"]


def test_tables_keep_a_row_on_a_line_and_paragraphs_of_a_cell_apart():
    markup = (
        "<table><tr><td><p>a</p></td><td><p>b</p><p>c</p></td></tr><tr><td></td><td>d</td></tr></table>"
        "<table><tr><td><h2>In a cell</h2>text</td></tr></table><pre>\n one\n\n two</pre>x"
    )

    assert [piece.text for piece in pieces(markup)] == ["a | b\n\nc\nd", "In a cell\n\ntext\n\n one\n\n two\n\nx"]


def test_a_page_of_scripts_has_no_text():
    assert pieces("<script>one()</script><style>p{}</style><!-- remark -->") == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ('<meta charset="shift_jis"><p>検索'.encode("shift_jis"), "検索"),
        ('<meta http-equiv=x content="text/html; charset=windows-1251"><p>поиск'.encode("cp1251"), "поиск"),
        ("<meta charset=iso-8859-1><p>it’s".encode("cp1252"), "it’s"),
        ("<meta charset=latin1><p>é".encode("utf-8-sig"), "é"),
        ("<p>检索".encode("utf-16"), "检索"),
        ("<meta charset=utf-16><p>検索".encode(), "検索"),
        ("<meta charset=no-such><p>検索".encode(), "検索"),
        ('<?xml version="1.0" encoding="euc-kr"?><p>검색'.encode("euc-kr"), "검색"),
    ],
)
def test_the_encoding_is_the_one_the_page_names(data: bytes, text: str):
    found = read(data, "n")

    assert [piece.text for piece in found.pieces] == [text]
    assert found.findings == ()


def test_a_guessed_encoding_is_noted_and_bytes_of_none_are_refused():
    guessed = read(b"<p>it\x92s", "n")

    assert [piece.text for piece in guessed.pieces] == ["it’s"]
    assert [finding.code for finding in guessed.findings] == [Code.OTHER_ENCODING]
    with pytest.raises(ExtractionError, match="UTF-8"):
        read(b"<p>\x81\x00", "n")


def test_names_of_codecs_that_are_no_encodings_are_ignored():
    assert [piece.text for piece in read(b"<meta charset=unicode_escape><p>a\\u0041", "n").pieces] == ["a\\u0041"]


_TAGS = st.sampled_from(["p", "h1", "h3", "li", "td", "tr", "div", "b", "pre", "table", "br", "ul", "a", "dt", "nope"])
_WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=12)


@given(parts=st.lists(st.tuples(_TAGS, _WORDS, st.booleans()), max_size=12))
def test_no_text_is_lost_whatever_the_markup(parts: list[tuple[str, str, bool]]):
    markup = "".join(f"<{tag}>{html.escape(text)}{f'</{tag}>' if closed else ''}" for tag, text, closed in parts)
    found = sorted("".join("".join(piece.text.split()) for piece in pieces(markup)))

    for character in "".join("".join(text.split()) for _, text, _ in parts):
        found.remove(character)
    assert set(found) <= {"-", "|"}
