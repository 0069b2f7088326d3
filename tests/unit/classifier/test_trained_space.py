"""Vectors: damped and rare counts weigh, each block has its length, unknown features only shorten what is known."""

import math

import numpy as np
import pytest

from fanfuse_classifier.domain.feature_space import FeatureSpace, count_frequencies
from fanfuse_classifier.domain.features import Block, read_features

KNOWN = {Block.WORD: {"flow": 9, "wing": 1}, Block.SCRIPT: {"latin": 10}}


def value_of(space, features, block, place):
    columns, values = space.vector(features)
    return float(values[columns == space.columns_of(block)[place]].sum())


def test_a_vector_by_hand():
    space = FeatureSpace(KNOWN, 9, {Block.WORD: 2.0, Block.SCRIPT: 0.5})
    features = {Block.WORD: {"wing": 2, "flow": 1, "unheard": 1}, Block.SCRIPT: {"latin": 0.8}}
    flow = 1.0  # ln((1 + 9) / (1 + 9)) + 1
    wing = (1.0 + math.log(2.0)) * (math.log(10.0 / 2.0) + 1.0)
    unheard = math.log(10.0) + 1.0
    length = math.sqrt(flow**2 + wing**2 + unheard**2)

    assert value_of(space, features, Block.WORD, 0) == pytest.approx(2.0 * flow / length)
    assert value_of(space, features, Block.WORD, 1) == pytest.approx(2.0 * wing / length)
    assert value_of(space, features, Block.SCRIPT, 0) == pytest.approx(0.5)


def test_each_block_has_its_length():
    space = FeatureSpace(count_frequencies([read_features("the wing of a plane")], 1), 1, dict.fromkeys(Block, 0.7))

    _, values = space.vector(read_features("the wing of something else"))

    assert values @ values == pytest.approx(len(Block) * 0.7**2)


def test_a_block_of_length_zero_is_left_out():
    space = FeatureSpace(KNOWN, 9, {Block.WORD: 1.0, Block.SCRIPT: 0.0})

    assert space.width == 3
    assert list(space.columns_of(Block.SCRIPT)) == []
    assert space.unknown_columns() == [2]


def test_nothing_to_say_is_an_empty_vector():
    columns, values = FeatureSpace(KNOWN, 9, {Block.WORD: 1.0}).vector(read_features("  "))

    assert (len(columns), len(values)) == (0, 0)


def test_frequencies_count_texts_not_occurrences_and_leave_rare_features_out():
    found = count_frequencies([read_features("wing wing flow"), read_features("flow")], 2)

    assert found[Block.WORD] == {"flow": 2}


def test_the_order_of_features_does_not_matter():
    space = FeatureSpace(KNOWN, 9, {Block.WORD: 1.0})
    one, other = ({Block.WORD: {"wing": 1, "flow": 2}}, {Block.WORD: {"flow": 2, "wing": 1}})

    for place in (0, 1):
        assert value_of(space, one, Block.WORD, place) == value_of(space, other, Block.WORD, place)
    assert np.isfinite(space.vector(one)[1]).all()
