"""Write one picture for each study with all its figures of a run, to look through them at once: docs/figures/{study}.png.

python tools/contact_sheet.py [RUN]        the figures of results/RUN, of the run `sample` without a name
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

import matplotlib  # noqa: E402
from PIL import Image, ImageDraw, ImageFont  # noqa: E402

from attention_atlas.workflow.studies import studies  # noqa: E402
from attention_atlas.workflow.study import Study  # noqa: E402

SHEETS = ROOT / "docs" / "figures"
LARGEST = 700_000
"""Bytes of a sheet at most."""
COLUMNS, WIDTH, GAP, HEADING = 3, 760, 24, 54
"""Figures beside each other, and sizes in pixels: of a figure, between figures, of a line of text."""
NARROWEST = 300
"""Width of a figure at which a sheet that is still too large is given up."""


def pictures_of(study: Study, run: str, root: Path = ROOT) -> list[tuple[str, Path]]:
    """(number, PNG file) of the figures of a study that a run has, in the order of their declaration."""
    figures = [(artifact.number, path) for artifact in study.artifacts for path in study.paths(artifact, run)]
    return [(number, root / path) for number, path in figures if path.endswith(".png") and (root / path).is_file()]


def _font(size: int) -> ImageFont.FreeTypeFont:
    """The font of the figures, which has the letters of all names."""
    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), size)


def sheet(title: str, pictures: Sequence[tuple[str, Path]], width: int) -> Image.Image:
    """One picture with all others in columns, each with its number above, none larger than it was.

    Args:
        title: above all.
        pictures: (number, PNG file).
        width: of a column, in pixels.
    """
    columns = min(COLUMNS, len(pictures))
    heights = [HEADING] * columns
    placed: list[tuple[int, int, str, Image.Image]] = []
    for number, path in pictures:
        with Image.open(path) as opened:
            drawn = opened.convert("RGB")
        scale = min(1.0, width / drawn.width)
        drawn = drawn.resize((round(scale * drawn.width), round(scale * drawn.height)), Image.Resampling.LANCZOS)
        column = heights.index(min(heights))
        placed.append((GAP + column * (width + GAP), heights[column], number, drawn))
        heights[column] += HEADING // 2 + drawn.height + GAP
    whole = Image.new("RGB", (GAP + columns * (width + GAP), max(heights)), "white")
    draw = ImageDraw.Draw(whole)
    draw.text((GAP, GAP // 2), title, fill="black", font=_font(22))
    for left, top, number, drawn in placed:
        draw.text((left, top), number, fill="#555555", font=_font(16))
        whole.paste(drawn, (left, top + HEADING // 2))
    return whole


def write_sheet(title: str, pictures: Sequence[tuple[str, Path]], path: Path, largest: int = LARGEST) -> None:
    """Write a sheet in 256 colours, with narrower columns until it is small enough.

    Raises:
        SystemExit: it is too large with the narrowest columns as well.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    width = WIDTH
    while width >= NARROWEST:
        sheet(title, pictures, width).quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
        if path.stat().st_size <= largest:
            return
        width = round(0.85 * width)
    raise SystemExit(f"{path}: {path.stat().st_size} bytes, more than {largest}: draw fewer figures on a sheet.")


def main() -> None:
    """Write the sheets of a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="sample", help="a built run")
    parser.add_argument("--out", type=Path, default=SHEETS, help="folder of the sheets")
    arguments = parser.parse_args()
    written = 0
    for study in studies().values():
        pictures = pictures_of(study, arguments.run)
        if pictures:
            label = " (generated text)" if arguments.run == "sample" else ""
            write_sheet(f"{study.title}: run {arguments.run}{label}", pictures, arguments.out / f"{study.id}.png")
            written += 1
    if not written:
        raise SystemExit(f"results/{arguments.run} has no figures: build the run first.")
    print(f"{written} contact sheets in {arguments.out}")


if __name__ == "__main__":
    main()
