"""The atlas of a run as an archive for a data hub or Zenodo: tables, data card, licence, versions and checksums.

The archive contains only numbers about heads and no sentences, since many corpora must not be redistributed.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attention_atlas.atlas.built import BuiltAtlas, load
from attention_atlas.io.files import whole_file
from attention_atlas.io.markdown import table

_TABLES = ("heads.tsv", "measures.tsv", "correlations.tsv", "findings.tsv")
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all members: the same tables give the same archive, byte for byte."""


@dataclass(frozen=True)
class Origin:
    """Origin of the numbers.

    Attributes:
        title: title of the run.
        code: version or commit of the code that computed them.
        models: name of each model of the run, and where its weights are from.
        corpora: title and licence of each corpus of the run; no licence for generated text.
        versions: package -> version.
        licence: text of the licence of the tables.
        licence_id: its identifier (SPDX).
    """

    title: str
    code: str
    models: Sequence[tuple[str, str]]
    corpora: Sequence[tuple[str, str]]
    versions: Mapping[str, str]
    licence: str
    licence_id: str


def write_release(folder: str | Path, origin: Origin, out: str | Path) -> None:
    """Write the archive: tables, README.md (the data card), LICENSE, versions.txt and SHA256SUMS.

    Args:
        folder: folder of a built run, such as results/sample.
        origin: origin of the numbers.
        out: zip file to write.

    Raises:
        AtlasError: the run has no atlas.
    """
    atlas = load(folder)
    tables = {name: path.read_bytes() for name in _TABLES if (path := atlas.folder / "atlas" / name).is_file()}
    texts = {
        "README.md": data_card(atlas, origin, list(tables)),
        "LICENSE": origin.licence,
        "versions.txt": "".join(f"{name} {version}\n" for name, version in sorted(origin.versions.items())),
    }
    members = tables | {name: text.encode("utf-8") for name, text in texts.items()}
    sums = "".join(f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in sorted(members))
    members["SHA256SUMS"] = sums.encode("ascii")
    with whole_file(out) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), members[name], zipfile.ZIP_DEFLATED)


def data_card(atlas: BuiltAtlas, origin: Origin, tables: Sequence[str]) -> str:
    """The data card in Markdown: a header in the format of data hubs, the contents of the tables, and one row per measure.

    Args:
        atlas: the built atlas.
        origin: origin of the numbers.
        tables: names of the tables in the archive.
    """
    layers, heads = int(atlas.heads["layer"].max()), int(atlas.heads["head"].max())
    title = f"Attention atlas of {atlas.model}"
    header = ["---", f"license: {origin.licence_id.lower()}", f"pretty_name: {json.dumps(title)}", "configs:"]
    for name in tables:
        header += [f"- config_name: {name.removesuffix('.tsv')}", f"  data_files: {name}", '  sep: "\\t"']
    shown = atlas.measures[atlas.measures["note"].isna()]
    rows = []
    for measure in shown.itertuples():
        n = "" if pd.isna(measure.n) else f"{measure.n} {measure.n_unit}"
        chance = "" if pd.isna(measure.chance) else f"value without the effect: {measure.chance:g}"
        null = measure.null if isinstance(measure.null, str) else chance
        cells = (measure.measure, measure.title, measure.unit, measure.model, n, null)
        rows.append(["" if pd.isna(cell) else str(cell).replace("|", "\\|") for cell in cells])
    return "\n".join(
        [
            *header,
            "---",
            "",
            f"# {title}",
            "",
            f"{origin.title}. {layers} layers of {heads} heads, counted from 1. Made with Attention Atlas: {origin.code}",
            "",
            "`heads.tsv` has one row for each head and one column for each measure, `measures.tsv` one row for each measure,",
            "`correlations.tsv` one row for each pair of measures, `findings.tsv` one row for each finding that was tested",
            "across studies. Tab-separated; an empty cell is a missing value. `NAME_low` and `NAME_high` are the ends of an",
            "interval, `NAME_null_low` and `NAME_null_high` those of 95 % of a null distribution, `NAME_q` is p corrected over",
            "heads. No text of a corpus is part of this archive.",
            "",
            "## Models",
            "",
            *(f"- {name}: {source}" for name, source in origin.models),
            "",
            "## Corpora",
            "",
            *(f"- {name}: {licence or 'no licence stated'}" for name, licence in origin.corpora),
            "",
            "## Measures",
            "",
            table(("column", "description", "unit", "model", "n", "null distribution"), rows),
            "",
        ]
    )
