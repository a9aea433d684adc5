"""Training on batches in parts of like length."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_atlas.models.fine_tuning import parts_of_like_length


def padded(lengths, parts, part_pieces):
    """What parts cost: their padded pieces, and so many for each part."""
    return sum(len(part) * max(lengths[place] for place in part) + part_pieces for part in parts)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 40))
def test_no_other_parts_have_fewer_pieces(lengths, part_pieces):
    parts = parts_of_like_length(lengths, part_pieces)
    assert sorted(place for part in parts for place in part) == list(range(len(lengths)))
    places = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    ways = [
        [places[start:stop] for start, stop in zip((0, *cuts), (*cuts, len(places)), strict=True)]
        for count in range(len(lengths))
        for cuts in combinations(range(1, len(lengths)), count)
    ]
    assert padded(lengths, parts, part_pieces) == min(padded(lengths, way, part_pieces) for way in ways)


@pytest.mark.parametrize(
    ("lengths", "part_pieces", "expected"),
    [
        ([5, 5, 5], 1, [[0, 1, 2]]),
        ([3, 9, 4, 8], 10, [[0, 1, 2, 3]]),  # whole, in the order that it has
        ([3, 9, 4, 8], 5, [[1, 3], [2, 0]]),
        ([7], 64, [[0]]),
    ],
)
def test_parts_of_small_batches(lengths, part_pieces, expected):
    assert parts_of_like_length(lengths, part_pieces) == expected
