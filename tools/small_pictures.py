"""Pictures for pages: PNGs reduced in colours and width until they are small enough."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, UnidentifiedImageError

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow" / "lib")]

from attention_atlas.errors import DamagedFile  # noqa: E402
from attention_atlas.io.files import whole_file  # noqa: E402

_WIDTHS = (1600, 1200, 960, 760, 600)
"""Pixels, tried in this order."""
_COLOURS = (256, 96)
"""Numbers of colours, tried at each width; with fewer, thin lines and text lose theirs."""


def write_small_picture(source: str | Path, out: str | Path, most_bytes: int) -> None:
    """Write a PNG of at most this many bytes: with fewer colours, then narrower.

    Args:
        source: PNG to reduce.
        out: PNG to write.
        most_bytes: limit; the smallest version is written where none is below.

    Raises:
        AtlasError: the picture cannot be read.
    """
    content = b""
    for content in _versions(Path(source)):
        if len(content) <= most_bytes:
            break
    with whole_file(out) as part:
        part.write_bytes(content)


def _versions(source: Path) -> Iterator[bytes]:
    """The picture in ever fewer bytes."""
    try:
        with Image.open(source) as opened:
            picture = opened.convert("RGBA")
    except (OSError, UnidentifiedImageError) as error:
        raise DamagedFile(source, f"this picture cannot be read ({error})") from error
    white = Image.new("RGBA", picture.size, "white")
    opaque = Image.alpha_composite(white, picture).convert("RGB")
    for width in _WIDTHS:
        size = (width, round(opaque.height * width / opaque.width))
        resized = opaque.resize(size, Image.Resampling.LANCZOS) if width < opaque.width else opaque
        for colours in _COLOURS:
            stream = io.BytesIO()
            resized.quantize(colours, dither=Image.Dither.NONE).save(stream, "PNG", optimize=True)
            yield stream.getvalue()
