"""What nearly all pages share is no text of a page, whatever its number; what only looks so is."""

import pytest

from fanfuse_indexing.page_stamps import own_pages

STAMP = "Licensed to J. Doe, copy 4711"


@pytest.mark.parametrize(
    "line", [STAMP, "{page}", "Page {page} of 200", "Vol. 3 — p. {offset}", "Downloaded 2024-01-02, page {page}"]
)
def test_stamps_and_page_numbers_alone_are_no_text(line: str):
    texts = [line.format(page=page, offset=page + 37) for page in range(1, 201)]

    assert own_pages(texts) == []


def test_a_running_head_takes_nothing_from_pages_with_text():
    texts = [f"{STAMP}\nChapter {chr(65 + n)}\n{n + 1}" for n in range(10)]

    assert own_pages(texts) == list(range(10))


def test_a_few_pages_with_text_among_stamped_ones():
    texts = [f"{STAMP}\n{'The cover' if page == 0 else ''}\n{page + 1}" for page in range(50)]

    assert own_pages(texts) == [0]


def test_two_pages_share_too_little_to_judge():
    assert own_pages([STAMP, STAMP]) == [0, 1]


def test_long_equal_pages_are_text():
    assert own_pages(["\n".join(f"Clause {chr(65 + n)} of the form letter" for n in range(10))] * 50) == list(range(50))


def test_numbers_that_differ_are_text():
    assert own_pages([f"Ticket {(n * 7919) % 1000}" for n in range(20)]) == list(range(20))


def test_blank_pages_and_no_pages():
    assert own_pages([]) == []
    assert own_pages(["", " \n ", "iv", "text"]) == [3]
