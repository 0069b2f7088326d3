"""Every command of a runbook, typed as it is written, on a running installation: none fails.

In: the pages and what somebody at night puts in for each placeholder; a placeholder that nobody knows fails.
"""

import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from fanfuse_contracts import streams
from fanfuse_contracts.enums import Stage
from tests.deploy.shipped import RUNBOOKS
from tests.e2e.test_dead_letters import given_up

pytestmark = pytest.mark.slow

NUMBERS = itertools.count()
QUESTION = "how many days of leave"
COMMANDS = [
    pytest.param(command, id=f"{page.stem}-{command}")
    for page in sorted(RUNBOOKS.glob("*.md"))
    for command in re.findall(r"`fanfuse ([^`]+)`", page.read_text(encoding="utf-8"))
]
"""Page by page, in the order of the page."""


@pytest.fixture(scope="module")
def question_id(running, acme_docs) -> str:
    running.must("index", str(acme_docs), "--tenant", "acme", "--corpus", "docs", "--public")
    answer = json.loads(running.must_call("ask", "--tenant", "acme", "--json", QUESTION))
    found: str = answer["query_id"]
    return found


@pytest.fixture
def values(running, acme_docs, tmp_path: Path, question_id: str) -> dict[str, Callable[[], str]]:
    """What somebody at night puts in for each placeholder."""
    (tmp_path / "fanfuse.yaml").write_text("corpora: []\n")
    return {
        "tenant": lambda: "acme",
        "corpus": lambda: "docs",
        "folder": lambda: str(acme_docs),
        "file": lambda: str(tmp_path / "fanfuse.yaml"),
        "question": lambda: QUESTION,
        "query id": lambda: question_id,
        "id": lambda: str(given_up(running, f"lost-{next(NUMBERS)}", "a question of that time")),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_it_does_what_it_says(running, values: dict[str, Callable[[], str]], command: str) -> None:
    running.must_call("health", "clear", "vector/main")  # a mark of the page before would hold
    filled = re.sub(r"<([^>]+)>", lambda place: shlex.quote(values[place[1]]()), command)
    told = running.call(*shlex.split(filled))
    assert told.returncode == 0, f"{filled}: {told.stdout}{told.stderr}"
    assert told.stdout + told.stderr


def test_the_consumers_that_a_runbook_names_are_those_of_status(running, question_id: str) -> None:
    """FanfuseQueueStuck says which consumer belongs to which service."""
    page = (RUNBOOKS / "FanfuseQueueStuck.md").read_text(encoding="utf-8")
    named = [spec.durable for spec in streams.CONSUMERS]
    assert all(f"`{durable}`" in page for durable in named)
    status = running.must_call("status")
    assert all(name in status for name in (*named, *(stage.value for stage in Stage)))
