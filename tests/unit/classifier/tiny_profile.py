"""A profile small enough to reckon with by hand: three corpora, four features."""

from typing import Any

from fanfuse_classifier.domain.profile import Profile

FLOOR = 0.05

FIGURES = {"queries": 4, "accuracy_1": 1.0, "accuracy_3": 1.0, "calibration_error": 0.0, "log_loss": 0.1}


def tiny(**changes: Any) -> dict[str, Any]:
    """Its JSON object; `changes` replace top-level fields, or fields of `model` named `model.<field>`."""
    model: dict[str, Any] = {
        "corpora": ["aero", "code", "news"],
        "queries": 12,
        "lengths": {"gram": 0.0, "word": 1.0, "form": 0.5, "script": 0.5},
        "bias": [0.1, 0.0, -0.1],
        "temperature": 0.5,
        "floor": FLOOR,
        "features": {
            "word": [["wing", 3, [2.0, -1.0, -1.0]], ["python", 4, [-1.0, 2.0, -1.0]]],
            "form": [["ends=?", 6, [0.1, 0.2, 0.0]]],
            "script": [["han", 2, [-1.0, -1.0, 3.0]]],
        },
    }
    model |= {name.removeprefix("model."): value for name, value in changes.items() if name.startswith("model.")}
    return {
        "format": "fanfuse-routing-profile",
        "version": 1,
        "trained_on": {
            "sha256": "0" * 64,
            "queries": 12,
            "per_corpus": {"aero": 4, "code": 4, "news": 4},
            "penalty": 1.0,
        },
        "report": {"held_out": FIGURES, "held_out_sha256": "1" * 64, "cross_validated": FIGURES},
        "model": model,
        **{name: value for name, value in changes.items() if not name.startswith("model.")},
    }


def tiny_profile(**changes: Any) -> Profile:
    """The checked profile."""
    return Profile.model_validate(tiny(**changes))
