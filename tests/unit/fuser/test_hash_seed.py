"""FUS-07: no set or dictionary order reaches the answer."""

import os
import subprocess
import sys

from tests.unit.fuser.hash_seed_case import digest


def test_three_hash_seeds_give_one_answer(repository):
    command = [sys.executable, "-m", "tests.unit.fuser.hash_seed_case"]
    processes = [
        subprocess.Popen(command, cwd=repository, env=os.environ | {"PYTHONHASHSEED": seed}, stdout=subprocess.PIPE)
        for seed in ("0", "1", "4242")
    ]
    assert {process.communicate(timeout=60)[0].decode() for process in processes} == {digest()}
