"""A service runs once per data directory, and whoever dies holds nothing."""

import subprocess
import sys

import pytest

from fanfuse_all_in_one.failures import OperatorError
from fanfuse_all_in_one.service_locks import running
from fanfuse_contracts.enums import Stage

HOLD = (
    "import sys, time; from pathlib import Path; from fanfuse_all_in_one.service_locks import running\n"
    "from fanfuse_contracts.enums import Stage\n"
    "with running(Path(sys.argv[1]), tuple(Stage)):\n"
    "    print('held', flush=True); time.sleep(60)\n"
)


def test_the_second_is_refused_by_the_names_of_the_services(tmp_path):
    with running(tmp_path, (Stage.CLASSIFIER, Stage.FUSER)):
        with running(tmp_path, (Stage.HEALTH,)):
            pass
        with (
            pytest.raises(OperatorError, match=r"another fanfuse up runs classifier, fuser on .*: end it"),
            running(tmp_path, tuple(Stage)),
        ):
            pass
        with running(tmp_path, (Stage.HEALTH,)):  # what was refused holds nothing
            pass
        with running(tmp_path / "other", tuple(Stage)):
            pass
    with running(tmp_path, tuple(Stage)):
        assert (tmp_path / "fuser.lock").exists()


def test_a_process_that_is_killed_holds_nothing(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(OperatorError, match="another fanfuse up runs classifier"), running(tmp_path, tuple(Stage)):
        pass
    child.kill()
    child.communicate()
    with running(tmp_path, tuple(Stage)):
        assert (tmp_path / "health.lock").exists()
