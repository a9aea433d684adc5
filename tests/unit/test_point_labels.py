"""Labels of points stand beside them, over no mark and no other label."""

import numpy as np
import pytest
from text_boxes import saved_figures

from attention_atlas.figures.marks import label_points
from attention_atlas.figures.style import page_figure, save_figure


def scatter(folder, count, spread, **options):
    points = np.random.default_rng(3).uniform(-spread, spread, size=(count, 2))
    figure, grid = page_figure(1, 1, 3.4, 3.0)
    axes = grid[0, 0]
    axes.scatter(points[:, 0], points[:, 1], s=16)
    axes.set(xlim=(-4, 4), ylim=(-4, 4))
    placed = label_points(axes, points.tolist(), [f"{k}-$2" for k in range(count)], 6, **options)
    boxes = [text.get_window_extent() for text in axes.texts]
    marks = axes.transData.transform(points)
    with saved_figures() as saved:
        save_figure(figure, {"png": folder / "f.png"})
    return placed, boxes, marks, saved[0], axes


def test_all_labels_are_placed_where_there_is_space(tmp_path):
    placed, boxes, marks, saved, _ = scatter(tmp_path, 12, 3.0)
    assert placed == len(boxes) == 12
    assert saved.problems == []
    centres = np.array([[(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] for box in boxes])
    # Each stands nearer to its own mark than a label is wide.
    assert (np.linalg.norm(centres - marks, axis=1) < 40).all()
    assert not [box for box in boxes for mark in marks if box.contains(*mark)]


@pytest.mark.parametrize(("lines", "fewest", "most"), [(False, 10, 60), (True, 40, 90)])
def test_labels_without_space_are_left_out_or_led_to(tmp_path, lines, fewest, most):
    placed, boxes, marks, saved, axes = scatter(tmp_path, 90, 1.2, lines=lines)
    assert placed == len(boxes)
    assert fewest < placed < most + 1
    assert saved.problems == []
    assert not [box for box in boxes for mark in marks if box.contains(*mark)]
    assert bool(axes.lines) == lines
