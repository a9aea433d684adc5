"""Convert a translation model of fairseq, so that runs can name it: `source: {path: FOLDER}` in config/models.yaml.

python tools/convert_fairseq.py wmt14.en-fr.joined-dict.transformer models/wmt14-en-fr-fairseq

The first folder is an unpacked archive of fairseq with model.pt, dict.en.txt and bpecodes. Only weights and settings of
model.pt are read; code in it is not run. The model takes text tokenised by Moses, as its training text was.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.models.marian import convert_fairseq  # noqa: E402


def main() -> None:
    """Convert one model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="folder with the files of the archive")
    parser.add_argument("folder", type=Path, help="folder to write")
    parser.add_argument("--checkpoint", default="model.pt", help="its weights and settings")
    parser.add_argument("--dictionary", default="dict.en.txt", help="its dictionary, the same for both languages")
    parser.add_argument("--merges", default="bpecodes", help="its merges of subword-nmt")
    arguments = parser.parse_args()
    archive = arguments.archive
    try:
        convert_fairseq(
            archive / arguments.checkpoint, archive / arguments.dictionary, archive / arguments.merges, arguments.folder
        )
    except AtlasError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
