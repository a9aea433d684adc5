"""Half to single precision: every number that attention can be, in every layout."""

import numpy as np

from attention_atlas.attention.cache import widened


def test_every_half_that_is_not_negative_is_the_same_number():
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16)  # zero, subnormal and normal ones, up to the largest
    singles = widened(halves)
    assert singles.dtype == np.float32
    assert np.array_equal(singles, halves.astype(np.float32))


def test_views_and_other_types_keep_their_shape_and_are_not_changed():
    maps = np.random.default_rng(0).random((2, 3, 5, 5)).astype(np.float16)
    before = maps.copy()
    for view in (maps, maps[:, ::2], maps[1, :, 1:, :3], maps.transpose(0, 1, 3, 2), maps[0, 0, 0, 0]):
        assert np.array_equal(widened(view), view.astype(np.float32))
        assert widened(view).shape == view.shape
    assert np.array_equal(maps, before)
    assert np.array_equal(widened(maps.astype(np.float64)), maps.astype(np.float32))
    assert widened(np.zeros((0, 4, 4), np.float16)).shape == (0, 4, 4)
