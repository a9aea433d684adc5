"""The atlas of any model: studies that need no training, on generated English, and the page to browse its heads.

python tools/atlas.py MODEL               a folder with config.json, weights and tokenizer.json, or the name of a hub's model
python tools/atlas.py MODEL --text FILE   show these sentences, one on each line; or CoNLL-U, whose trees heads are measured on
python tools/atlas.py MODEL --keep        do not open the page in a browser

Results are in results/atlas-NAME, with --text in results/atlas-NAME-on-FILE; the configuration, for further targets of the same
run, in config.yaml there.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

import yaml  # noqa: E402

from attention_atlas.corpora.users_text import UsersText, users_text  # noqa: E402
from attention_atlas.errors import AtlasError, first_line  # noqa: E402
from attention_atlas.models.loading import locate  # noqa: E402

TEMPLATE = "any"
"""The run that every model extends."""
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.txt",
    "vocab.json",
    "source.spm",
    "spiece.model",
    "sentencepiece.bpe.model",
)
_SEED = 1
# Spelled in bytes, even short sentences are long.
_BYTES_DRAWN = {"count": 4, "max_tokens": 64}
_TEXT_DRAWN = {"count": 20, "max_tokens": 64, "shortest": 1}
"""A user's sentences that the page shows: more, longer and shorter ones than of a corpus."""
_BYTES_CORPORA = {
    "sample-keyphrases": {"max_tokens": 512, "overlong": "truncate"},
    "sample-coreference": {"max_tokens": 512},
}


def model_source(model: str) -> tuple[dict[str, str], dict[str, int], bool]:
    """Source of a model as in the registry, its layers, heads and hidden size, and whether it has a tokenizer.

    Raises:
        AtlasError: there is no such folder, and the hub has no such model or cannot be reached; or transformers does not know
            its configuration.
    """
    folder = Path(model)
    if folder.is_dir():
        source = {"path": str(folder.resolve())}
        shape = shape_of(locate({"source": source}))
        return source, shape, any((folder / name).is_file() for name in _TOKENIZERS)
    if model.count("/") > 1 or model.startswith((".", "~")):
        raise AtlasError(f"{model}: there is no such folder.")
    from huggingface_hub import HfApi, hf_hub_download

    try:
        revision = HfApi().model_info(model).sha
        path = hf_hub_download(model, "config.json", revision=revision)
    except Exception as error:  # the hub client raises a dozen kinds
        raise AtlasError(
            f"{model}: there is no such folder, and the model cannot be downloaded from the hub ({type(error).__name__}). Name "
            "a folder with config.json, weights and tokenizer.json, or run this on a machine with a network."
        ) from error
    if revision is None:
        raise AtlasError(f"{model}: the hub names no revision of this model. Download it and name its folder.")
    return {"hub": model, "revision": revision}, shape_of(Path(path).parent), True


def shape_of(folder: Path) -> dict[str, int]:
    """Layers, heads and hidden size of the model in a folder; transformers knows what each architecture calls them.

    Raises:
        AtlasError: its config.json cannot be read, is of an unknown architecture, or does not say them.
    """
    from transformers import AutoConfig

    try:
        settings = AutoConfig.from_pretrained(folder)
    except Exception as error:  # transformers raises whatever its parts raise
        reason = first_line(error, 200)
        raise AtlasError(f"{folder / 'config.json'}: not the configuration of a known architecture ({reason}).") from error
    try:
        return {
            "layers": settings.num_hidden_layers,
            "heads": settings.num_attention_heads,
            "hidden_size": settings.hidden_size,
        }
    except AttributeError as error:
        raise AtlasError(f"{folder / 'config.json'}: it does not say how many layers and heads the model has.") from error


def overlay(model: str, text_path: str | Path | None = None) -> tuple[str, dict[str, Any]]:
    """Name of the run of a model, and the configuration that overlays config.yaml.

    The model is compared with the same architecture with random weights.

    Args:
        model: folder, or name on the hub.
        text_path: sentences that the page shows; with trees the heads are measured on them, too.

    Raises:
        AtlasError: as `model_source` and `users_text`.
    """
    text = users_text(text_path) if text_path else None
    source, shape, tokenizer = model_source(model)
    parts = Path(source["path"]).parts if "path" in source else model.split("/")
    # Folders are often called by what they are (hf, checkpoint), and their parents by the model.
    name = "-".join(_plain_name(part) for part in parts[-2:])
    entry: dict[str, Any] = {"source": source, **shape}
    measured_on = f"{text.path.name}; coreference and keyphrases: " if text and text.has_trees else ""
    title = f"{name} ({measured_on}generated English)"
    atlas: dict[str, Any] = {"compared": [f"{name}-random"]}
    further: dict[str, Any] = {}
    if not tokenizer:
        entry["tokenizer"] = "bytes"
        title = f"{name} ({measured_on}generated English, spelled in bytes, as the model came without a tokenizer)"
        atlas["drawn"] = _BYTES_DRAWN
        further["corpora"] = _BYTES_CORPORA
    run = f"atlas-{name}"
    settings: dict[str, Any] = {"extends": TEMPLATE, "title": title, "model": name, "atlas": atlas}
    if text:
        corpus = f"text-{_plain_name(text.path.name.partition('.')[0]) or 'file'}"
        run = f"{run}-on-{corpus.removeprefix('text-')}"
        further["corpora"] = {**further.get("corpora", {}), corpus: text.entry()}
        atlas["drawn"] = _TEXT_DRAWN
        if text.has_trees:
            atlas["sentences"] = corpus
            settings["clark2019"] = {"dependencies": corpus}
        else:
            atlas["shown"] = corpus
    return run, {
        "targets": [run],
        "models": {name: entry, f"{name}-random": {**entry, "init": "random", "seed": _SEED}},
        "runs": {run: settings},
        **further,
    }


def _plain_name(text: str) -> str:
    """A text as a part of a name in the registries."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


def text_notes(text: UsersText) -> list[str]:
    """What a user should know of a text before the run."""
    notes = []
    if text.records < text.sentences:
        use = "measured" if text.has_trees else "shown"
        notes.append(f"{text.path}: the first {text.records} of {text.sentences} sentences are {use}.")
    if not text.has_trees:
        notes.append(f"{text.path}: no trees, so the page shows these sentences; heads are measured on generated English.")
    return notes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--text", type=Path, help="sentences to show, one on each line, or CoNLL-U")
    parser.add_argument("--keep", action="store_true", help="do not open the page")
    parser.add_argument("--cores", default="all")
    chosen = parser.parse_args()
    try:
        run, added = overlay(chosen.model, chosen.text)
        notes = text_notes(users_text(chosen.text)) if chosen.text else []
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if any("tokenizer" in entry for entry in added["models"].values()):
        print(
            "warning: this folder has no tokenizer, so the model receives raw bytes. This input is out of distribution: its "
            "heads may behave differently from what they do with tokens. Put its tokenizer.json into the folder to avoid this.",
            file=sys.stderr,
        )
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    folder = ROOT / "results" / run
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(added, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/local", "--cores", chosen.cores]
    code = subprocess.call([*command, "--configfile", "config.yaml", str(folder / "config.yaml"), "--", "atlas"], cwd=ROOT)
    if code:
        return code
    page = folder / "atlas" / "atlas.html"
    print(page.relative_to(ROOT))
    if not chosen.keep:
        webbrowser.open(page.as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main())
