"""Reads the file of a trained scorer.

In: a path. Out: a `CorpusClassifier`, or `ProfileError` that names the file, what is wrong and what to do. Read once,
at start.
"""

from pathlib import Path

from pydantic import ValidationError

from fanfuse_classifier.domain.profile import Profile
from fanfuse_classifier.domain.trained import TrainedScorer

_MAX_PROBLEMS = 3


class ProfileError(ValueError):
    """A profile can't be used; the message names the file and what to do."""


def load_trained(path: Path) -> TrainedScorer:
    """The scorer of the profile at `path`, a `CorpusClassifier`."""
    profile = read_profile(path)
    return TrainedScorer(profile.model, profile.tenant)


def read_profile(path: Path) -> Profile:
    """The checked profile at `path`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProfileError(
            f"{path}: can't be read ({error.strerror}): make it with `fanfuse routing fit`, or correct "
            "retrieval.routing.profile"
        ) from error
    try:
        return Profile.from_json(data)
    except ValidationError as error:
        raise ProfileError(f"{path}: {_problems(error)}: make it again with `fanfuse routing fit`") from error


def _problems(error: ValidationError) -> str:
    rows = error.errors(include_url=False, include_input=False)
    told = [
        f"{'.'.join(map(str, row['loc'])) or 'the file'}: {row['msg'].removeprefix('Value error, ')}"
        for row in rows[:_MAX_PROBLEMS]
    ]
    more = f"; and {len(rows) - _MAX_PROBLEMS} more" if len(rows) > _MAX_PROBLEMS else ""
    return "; ".join(told) + more
