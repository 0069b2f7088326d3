"""Each planted mistake is found: by its check, which names the object, and by no check that it does not concern."""

import copy
from typing import Any

import pytest

from tests.deploy.allowed_changes import ALLOWED, HOT, Change
from tests.deploy.manifests import Cluster
from tests.deploy.mistakes_of_alerts import ALERTS
from tests.deploy.mistakes_of_boundaries import BOUNDARIES
from tests.deploy.mistakes_of_containers import CONTAINERS, FIRST
from tests.deploy.mistakes_of_files import FILES
from tests.deploy.mistakes_of_identity import IDENTITIES
from tests.deploy.mistakes_of_operating import OPERATING
from tests.deploy.mistakes_of_ports import PORTS
from tests.deploy.mistakes_of_scaling import SCALING
from tests.deploy.mistakes_of_selecting import SELECTING
from tests.deploy.mistakes_of_users import USERS
from tests.deploy.operating_checks import CHECKS, faults
from tests.deploy.planting import POOLS, Mistake, consumers_of, spoken
from tests.deploy.rendered import Objects

PLANTED = (*SELECTING, *PORTS, *SCALING, *CONTAINERS, *FILES, *IDENTITIES, *USERS, *ALERTS, *BOUNDARIES, *OPERATING)


def called(value: Any) -> str:
    return f"{value.check}-{value.told}"


@pytest.mark.parametrize("mistake", PLANTED, ids=called)
def test_a_planted_mistake_is_found(overlays: dict[str, Objects], mistake: Mistake) -> None:
    told = [fault.partition(": ") for fault in spoken(overlays, [mistake])]
    assert {check for check, _, _ in told} == {mistake.check, *mistake.also}
    assert [fault for check, _, fault in told if check == mistake.check and mistake.told not in fault] == []


def test_every_check_has_a_planted_mistake() -> None:
    assert {check.__name__ for check in CHECKS} == {mistake.check for mistake in PLANTED}


@pytest.mark.parametrize("change", ALLOWED, ids=lambda change: change.__name__)
def test_what_the_readme_allows_is_no_mistake(overlays: dict[str, Objects], change: Change) -> None:
    """An alarm about what the reader was told to do is one that nobody believes the next time."""
    those = copy.deepcopy(overlays["prod"])
    change(those)
    assert those != overlays["prod"]
    assert faults(Cluster(those, consumers_of((*POOLS, HOT)), available=True)) == []


def test_a_sound_container_that_runs_first_is_no_mistake(overlays: dict[str, Objects]) -> None:
    """What is planted into such containers is found for itself, not for their being there."""
    assert spoken(overlays, [FIRST]) == []
