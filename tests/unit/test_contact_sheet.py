"""A contact sheet has all figures of a study, under their numbers, and is small."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from contact_sheet import GAP, HEADING, pictures_of, write_sheet

from attention_atlas.workflow.study import Study, figure, table

COLOURS = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (200, 200, 0)]


def study_with_figures(root, count=4):
    artifacts = [figure(f"figure{k}", f"Figure {k}", "shown", "Caption.") for k in range(1, count + 1)]
    study = Study(id="s", order=1, title="S", description="S.", artifacts=(table("t", "Table 1", "", ""), *artifacts))
    folder = root / "results" / "r" / "s"
    folder.mkdir(parents=True)
    for k in range(1, count):
        Image.new("RGB", (1400, 600), COLOURS[k - 1]).save(folder / f"figure{k}.png")
    return study


def test_a_sheet_has_the_figures_that_the_run_has(tmp_path):
    pictures = pictures_of(study_with_figures(tmp_path), "r", tmp_path)
    assert [number for number, _ in pictures] == ["Figure 1", "Figure 2", "Figure 3"]
    write_sheet("S: run r", pictures, tmp_path / "docs" / "s.png")
    with Image.open(tmp_path / "docs" / "s.png") as opened:
        drawn = np.asarray(opened.convert("RGB")).astype(int)
    for column, colour in enumerate(COLOURS[:3]):
        width = (drawn.shape[1] - GAP) // 3
        place = drawn[HEADING + HEADING // 2 + 20, GAP + column * width + 50]
        assert np.abs(place - colour).max() < 12, column
    assert (drawn[HEADING + 4 : HEADING + 24, GAP : GAP + 90] < 200).any(), "the number of the figure"


def test_a_sheet_that_is_too_large_gets_narrower_and_then_is_an_error(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (600, 900, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "f.png")
    pictures = [("Figure 1", tmp_path / "f.png")]
    write_sheet("S", pictures, tmp_path / "s.png")
    whole = (tmp_path / "s.png").stat().st_size
    write_sheet("S", pictures, tmp_path / "s.png", whole // 2)
    assert (tmp_path / "s.png").stat().st_size <= whole // 2
    with pytest.raises(SystemExit, match="draw fewer figures"):
        write_sheet("S", pictures, tmp_path / "s.png", 1000)
