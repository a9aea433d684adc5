"""Rehearse the run `paper`: every rule of it, on generated stand-ins of its corpora and models.

python tools/rehearse.py [--cores N] [--prepare]

The stand-ins, the configuration and the results lie in results/rehearsal-files; a second start keeps what is built.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from rehearsal_corpora.write import SACREBLEU, write_stand_ins  # noqa: E402

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.files import write_text  # noqa: E402
from attention_atlas.io.tables import read_table  # noqa: E402
from attention_atlas.published.compare import COVERED, DIFFERS, MATCH  # noqa: E402
from attention_atlas.published.matching import STAND_INS  # noqa: E402
from attention_atlas.workflow.config import merged, read_configuration, write_configuration  # noqa: E402

FOLDER = ROOT / "results" / "rehearsal-files"
OVERLAY = ROOT / "config" / "rehearsal.yaml"
RUN = "rehearsal"
_STAMP = "stand-ins.json"
REASONS = (
    "several roots",
    "incomplete row",
    "empty text",
    "no label",
    "no targets",
    "empty sentence or translation",
    "too long",
)
"""Reasons for which the readers drop what the stand-ins hold beside good records."""
COMPARED = (MATCH, COVERED, DIFFERS)
"""Verdicts that call a measured number the published quantity."""


def prepare(folder: Path) -> None:
    """Write stand-ins and configuration below a folder; results are kept where the same code wrote their stand-ins."""
    stamp = folder / _STAMP
    digest = _digest()
    known = json.loads(stamp.read_text(encoding="utf-8")) if stamp.is_file() else {}
    if known.get("code") != digest:
        # Results of other stand-ins are removed with them. The stamp is written last: half-written files have none.
        shutil.rmtree(folder, ignore_errors=True)
        known = {"code": digest, "sha256": write_stand_ins(folder)}
    write_configuration(configuration(known["sha256"]), folder)
    write_text(stamp, json.dumps(known, indent=1) + "\n")


def configuration(checksums: Mapping[str, str]) -> dict[str, Any]:
    """The configuration with the overlay, and with the checksums of what stands for downloads."""
    corpora = {corpus: {"source": {"sha256": checksum}} for corpus, checksum in checksums.items()}
    return merged(read_configuration(ROOT, [OVERLAY]), {"corpora": corpora})


def _digest() -> str:
    """Digest of the code that the stand-ins depend on."""
    digest = hashlib.sha256()
    for package in ("rehearsal_corpora", "sample_corpus"):
        for path in sorted((ROOT / "workflow" / "lib" / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def run(folder: Path, arguments: Iterable[str]) -> int:
    """Build the run; its exit status."""
    profile = str(ROOT / "workflow" / "profiles" / "local")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    environment = os.environ | {"SACREBLEU": str(folder / SACREBLEU), "HF_HUB_OFFLINE": "1"}
    environment.pop("ATLAS_DATA", None)
    return subprocess.run([*command, "--workflow-profile", profile, *arguments], check=False, env=environment).returncode


def faults(folder: Path) -> list[str]:
    """What is wrong with a rehearsal that has been built, one sentence per fault."""
    path = folder / "results" / RUN / "comparison.tsv"
    values = read_table(path, ["id", "verdict", "obstacle"])
    called = Counter(values.loc[values["verdict"].isin(COMPARED), "verdict"])
    sentences = [f"{path}: {count} values have the verdict '{verdict}'." for verdict, count in called.items()]
    dropped = [read_table(table) for table in (folder / "results" / RUN / "examples").rglob("*.dropped.tsv")]
    reasons = Counter(reason for table in dropped for reason in table["reason"])
    sentences += [f"{folder}: no record was dropped for the reason '{reason}'." for reason in REASONS if not reasons[reason]]
    would_be_compared = int((values["obstacle"] == STAND_INS).sum())
    if not would_be_compared:
        sentences.append(f"{path}: no value would be compared with the run paper's models and corpora.")
    print(f"{would_be_compared} of {len(values)} published values would be compared in the run paper")
    print("dropped: " + ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())))
    return sentences


def main() -> None:
    """Write the stand-ins, build the run, look at its scoreboard."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default="all")
    parser.add_argument("--prepare", action="store_true", help="write stand-ins and configuration, and stop")
    parser.add_argument("further", nargs="*", help="further arguments for snakemake, after --")
    arguments = parser.parse_args()
    try:
        prepare(FOLDER)
        if arguments.prepare:
            return
        if status := run(FOLDER, ["--cores", arguments.cores, *(arguments.further or ["--", "all"])]):
            sys.exit(status)
        if sentences := faults(FOLDER):
            sys.exit("\n".join(sentences))
    except AtlasError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
