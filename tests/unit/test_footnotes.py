"""The line of model, corpus and n below a figure, wrapped to the width of the figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from attention_atlas.figures.style import lay_out

WORDS = "Laptop run: minilm-glue-laptop and minilm-squad-laptop on WikiText-2 test; n = 1000 segments, 72 heads; cost $5."


@pytest.mark.parametrize("width", [1.5, 1.7, 1.9, 2.2, 2.6, 3.0, 3.4, 4.0, 5.0, 7.0])
def test_lines_break_neither_at_an_equals_sign_nor_inside_a_name(width):
    figure = plt.figure(figsize=(width, 2))
    try:
        lay_out(figure, WORDS)
        (note,) = figure.texts
        lines = note.get_text().split("\n")
        assert " ".join(lines) == WORDS.replace("$", r"\$")
        assert any("n = 1000" in line for line in lines)
        assert note.get_window_extent().width <= width * figure.dpi
    finally:
        plt.close(figure)
