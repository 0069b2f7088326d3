"""Pictures of the benchmark: where points, ticks and names are."""

import math
from xml.etree import ElementTree

import pytest

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def curves(bench_module):
    return bench_module("curves")


def test_a_linear_axis_begins_at_nothing_and_a_logarithmic_one_at_the_least(curves):
    linear, log = curves.Axis([20.0, 40.0], log=False), curves.Axis([1.0, 64.0], log=True)

    assert [linear.share(at) for at in (0.0, 20.0, 40.0)] == [0.0, 0.5, 1.0]
    assert [log.share(at) for at in (1.0, 8.0, 64.0)] == pytest.approx([0.0, 0.5, 1.0])
    assert list(linear.ticks()) == [0.0, 10.0, 20.0, 30.0, 40.0]
    assert list(log.ticks()) == [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]


def test_an_axis_of_one_value_has_a_length(curves):
    assert curves.Axis([1.0], log=True).share(1.0) == 0.0
    assert curves.Axis([0.0], log=False).share(0.0) == 0.0


def test_each_curve_has_its_points_and_its_name_and_no_two_names_touch(curves):
    drawn = [curves.Curve("flow <p50>", [(1, 2), (2, 4), (4, 8)], 0), curves.Curve("floor", [(1, 1), (4, 8)], 1)]

    root = ElementTree.fromstring(curves.draw(drawn, "Time", "lanes"))

    groups = root.findall(f"{SVG}g")
    assert [len(group.findall(f"{SVG}circle")) for group in groups] == [3, 2]
    assert [len(group.findall(f"{SVG}line")) for group in groups] == [2, 1]
    names = [name for group in groups for name in group.findall(f"{SVG}text")]
    assert [name.text for name in names] == ["flow <p50>", "floor"]
    first, second = (float(name.attrib["y"]) for name in names)
    assert abs(first - second) >= 16


def test_what_was_not_measured_is_not_drawn(curves):
    drawn = [curves.Curve("flow", [(1, math.nan), (2, 4), (4, 0)], 0), curves.Curve("none", [(1, math.nan)], 1)]

    assert curves.draw(drawn, "Time", "lanes", log=True).count("<circle") == 1
    assert curves.draw(drawn, "Time", "lanes").count("<circle") == 2
