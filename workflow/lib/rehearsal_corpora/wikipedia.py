"""Wikipedia like the hub's data set: Parquet files with several row groups in a folder with a data card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sample_corpus.generate import Document

from attention_atlas.io.files import whole_file, write_text

CONFIG = "20231101.en"
_FILES, _ROWS_OF_A_GROUP = 2, 12
_CARD = f"""---
configs:
- config_name: {CONFIG}
  data_files:
  - split: train
    path: {CONFIG}/train-*
---
# Wikipedia (generated)
"""


def write_wikipedia(documents: Sequence[Document], folder: Path) -> None:
    """Write rows of id, url, title and text; headings and lists are on separate lines, and some pages are empty."""
    write_text(folder / "README.md", _CARD)
    rows = [_row(number, document) for number, document in enumerate(documents)]
    size = -(-len(rows) // _FILES)
    for file in range(_FILES):
        table = pa.Table.from_pylist(rows[file * size : (file + 1) * size])
        path = folder / CONFIG / f"train-{file:05d}-of-{_FILES:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as part:
            pq.write_table(table, part, row_group_size=_ROWS_OF_A_GROUP)


def _row(number: int, document: Document) -> dict[str, str]:
    heading = "\n\nReferences\n\nExternal links\n Official website"
    text = "" if number % 10 == 9 else document.text.replace("\n", "\n\n") + heading
    title = document.scenario.replace("_", " ")
    return {"id": str(number + 12), "url": f"https://en.wikipedia.org/wiki/{number}", "title": title, "text": text}
