"""240 written cases, 60 per shape, each with the reason why a search engineer would say so, are classified so (CLS-03).

They were written from the meaning of the shapes and their weights, before the rules that now agree with them.
"""

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from fanfuse_classifier.domain.shape import classify_shape
from fanfuse_contracts.enums import Shape

CASES = [json.loads(line) for line in Path(__file__).with_name("shape_cases.jsonl").read_text("utf-8").splitlines()]

# The routing data's labels in our words: its "multi_hop" goes from a named thing to another, its "code" asks in words.
LABELS = {
    "keyword": Shape.KEYWORD_HEAVY,
    "question": Shape.SEMANTIC,
    "statement": Shape.SEMANTIC,
    "claim": Shape.SEMANTIC,
    "code": Shape.SEMANTIC,
    "entity": Shape.ENTITY_RICH,
    "multi_hop": Shape.ENTITY_RICH,
}


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case['shape']}" for number, case in enumerate(CASES)])
def test_written_case(case):
    found = classify_shape(case["text"])

    assert found.shape == case["shape"], f"{case['text']!r}: {case['why']}, but {found.reason}"


def test_sixty_cases_per_shape_in_many_languages():
    per_shape = Counter(case["shape"] for case in CASES)
    chinese = Counter(case["shape"] for case in CASES if case["language"] == "zh")

    assert per_shape == dict.fromkeys(Shape, 60)
    assert min(chinese[shape] for shape in Shape) >= 10
    assert {"en", "zh", "de", "fr", "es", "ru", "ar", "ja", "ko", "hi"} <= {case["language"] for case in CASES}
    assert len({case["text"] for case in CASES}) == len(CASES)
    assert all(len(case["why"]) > 8 for case in CASES)


def test_every_reason_is_a_rule_of_the_readme(repository):
    readme = (repository / "services/classifier/README.md").read_text("utf-8")
    reasons = {classify_shape(case["text"]).reason for case in CASES}

    assert not [reason for reason in sorted(reasons) if f"`{reason}`" not in readme]


def test_agreement_with_weak_labels_is_told(shared, say):
    """The labels are another rule's output, so the figure has no target: it shows that a change changed something."""
    agreed: Counter[str] = Counter()
    told: Counter[str] = Counter()
    with tarfile.open(shared / "data/routing.tar.xz") as archive:
        for split in ("train", "test"):
            member = archive.extractfile(f"routing/{split}.jsonl")
            assert member is not None
            for row in map(json.loads, member.read().decode().splitlines()):
                told[row["shape"]] += 1
                agreed[row["shape"]] += classify_shape(row["text"]).shape is LABELS[row["shape"]]
    parts = ", ".join(f"{label} {agreed[label]}/{told[label]}" for label in sorted(told))
    say(f"shape agrees with the routing data's weak labels: {agreed.total()}/{told.total()} ({parts})")

    assert told.keys() == LABELS.keys()
