"""Markdown and reStructuredText are cut at their headings, and nowhere else; their lines are all kept."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fanfuse_indexing.headings import markdown_sections, rst_sections

GUIDE = """---
title: Guide
---
Before.

# Guide

## Install `now`

pip install

```
# not a heading
```

Linux
-----
apt

# [Links](https://example.org) and *stars*
end
"""


def test_markdown_headings_give_the_path():
    assert [section.path for section in markdown_sections(GUIDE)] == [
        (),
        ("Guide", "Install now"),
        ("Guide", "Linux"),
        ("Links and stars",),
    ]


def test_a_heading_without_text_opens_the_next_section():
    section = markdown_sections(GUIDE)[1]

    assert section.text.startswith("# Guide\n\n## Install `now`")
    assert "# not a heading" in section.text


def test_only_headings_is_one_section():
    assert [section.text for section in markdown_sections("# A\n\n## B\n")] == ["# A\n\n## B"]


def test_rst_levels_follow_first_appearance():
    text = "=====\nTitle\n=====\nintro\n\nPart\n----\none\n\nSub\n~~~\ntwo\n\nNext part\n---------\nthree\n"

    assert [(section.path, section.text.splitlines()[-1]) for section in rst_sections(text)] == [
        (("Title",), "intro"),
        (("Title", "Part"), "one"),
        (("Title", "Part", "Sub"), "two"),
        (("Title", "Next part"), "three"),
    ]


def test_rst_underline_shorter_than_its_title_or_indented_is_text():
    text = "A long line\n---\n\n    indented\n    --------\n\n=====  =====\na      b\n=====  =====\n"

    assert [section.path for section in rst_sections(text)] == [()]


LINES = st.lists(
    st.sampled_from(["# A", "## B", "text", "", "---", "===", "Title", "> # q", "```", "    code", "- # item", "一二"]),
    max_size=30,
)


@settings(deadline=None)
@given(lines=LINES)
def test_no_line_is_lost(lines: list[str]):
    text = "\n".join(lines)
    for sections in (markdown_sections(text), rst_sections(text)):
        kept = "\n".join(section.text for section in sections)
        assert kept.split() == text.split()
        assert all(section.text.strip() for section in sections)


def test_deeply_nested_quotes_do_not_break_the_parser():
    assert markdown_sections(">" * 20_000 + " deep\n\n# After\nend")[-1].path == ("After",)
