"""A users file that can't be read is told in plain words."""

import pytest

from fanfuse_all_in_one.deploying.users_file import UsersFile
from fanfuse_all_in_one.failures import OperatorError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("services: {FUSER: [nokey]}", "services.FUSER.0: String should match pattern"),
        ("tenants: {'A b': [x]}", "is not valid: use 1 to 64 of lower-case letters"),
        ("services: {FUSER: []}", "services.FUSER: Tuple should have at least 1 item"),
        ("user: {}", "user: Extra inputs are not permitted"),
        ("services: [", "is no users file: while parsing"),
    ],
)
def test_a_bad_users_file_is_told_without_the_words_of_a_library(tmp_path, text, said):
    path = tmp_path / "users.yaml"
    path.write_text(text)
    with pytest.raises(OperatorError) as refused:
        UsersFile.read(path)
    told = str(refused.value)
    assert told.startswith(f"{path} is no users file: ")
    assert said in told
    assert "http" not in told
    assert "validation error" not in told
    assert "Value error" not in told
