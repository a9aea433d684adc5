"""The atlas of any model: studies that need no training, on generated English, and the page to browse its heads.

python tools/atlas.py MODEL               a folder with config.json, weights and tokenizer.json, or the name of a hub model
python tools/atlas.py MODEL MODEL ...     several models on one page, side by side; the first one is the run's
python tools/atlas.py "FOLDER/step*"      folders that fit a pattern, "NAME_{0..4}", or NAME@REVISION NAME@REVISION, such as
                                          checkpoints or seeds; the last one is the run's
python tools/atlas.py MODEL --text FILE   show these sentences, one on each line; or CoNLL-U, whose trees heads are measured on
python tools/atlas.py MODEL --keep        do not open the page in a browser

Several models may also be given in one argument, separated by spaces. Results are in results/atlas-NAME, with --text in
results/atlas-NAME-on-FILE; the configuration, for further targets of the same run, in config.yaml there.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import subprocess
import sys
import webbrowser
from collections import Counter
from collections.abc import Mapping, Sequence
from glob import glob
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

import yaml  # noqa: E402

from attention_atlas.attention.engine import self_attention  # noqa: E402
from attention_atlas.corpora.conllu import SeveralRootsError, tree_builders  # noqa: E402
from attention_atlas.corpora.text import sentences_records  # noqa: E402
from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.hub_files import MODELS, at_hand, fetch, reference_of, refusal, resolved_commit  # noqa: E402
from attention_atlas.models.loading import WEIGHT_FILES, configuration, empty_model, locate  # noqa: E402
from attention_atlas.workflow.config import merged, read_configuration  # noqa: E402
from attention_atlas.workflow.config import resolve as resolve_config  # noqa: E402
from attention_atlas.workflow.requirements import MISSING, model_requirement, without_missing  # noqa: E402
from attention_atlas.workflow.study_inputs import StudyInputs  # noqa: E402

_TOKENIZERS = "tokenizer.json vocab.txt vocab.json tokenizer.model source.spm spiece.model sentencepiece.bpe.model".split()
_LONGEST_NAME = 60
_BRACES = re.compile(r"([^{}]*)\{(?:(\d+)\.\.(\d+)|([^{},]+(?:,[^{},]+)+))\}([^{}]*)")
_MOST_IN_BRACES = 100
_TEXT_SHOWN = {"count": 20, "max_tokens": 512, "shortest": 1}
"""Limits on a user's sentences that the page shows: wider than those of a corpus."""
MOST_SENTENCES, MOST_SHOWN = 2000, 100  # sentences of a user that are measured, if they have trees; others are only shown


class UsersText(NamedTuple):
    """A user's file: CoNLL-U (has_trees), or one sentence on each line."""

    path: Path
    has_trees: bool
    sentences: int

    @property
    def records(self) -> int:
        """Number of its sentences that are read, from the first."""
        return min(self.sentences, MOST_SENTENCES if self.has_trees else MOST_SHOWN)

    def entry(self) -> dict[str, Any]:
        """Its entry in the registry of corpora: all sentences in file order, in one shard."""
        return {
            "title": self.path.name,
            "reader": "conllu" if self.has_trees else "sentences",
            "source": {"path": str(self.path.resolve())},
            "order": "file",
            # Longer than any model's maximum, which then applies.
            "max_tokens": 512,
            "limit": self.records,
            "shard": self.records,
        }


def users_text(path: str | Path) -> UsersText:
    """Kind of text in a file, by its name."""
    file = Path(path)
    if not file.is_file():
        raise AtlasError(f"{file}: there is no such file; name a file with one sentence per line, or in CoNLL-U.")
    if not {".conllu", ".conll"} & {suffix.lower() for suffix in file.suffixes}:
        return UsersText(file, False, sum(1 for _ in sentences_records(file)))
    builders = list(tree_builders(file))
    if not builders:
        raise AtlasError(f"{file}: there is no sentence in this file; give one in CoNLL-U.")
    for build in builders[:MOST_SENTENCES]:
        # The reader drops a tree with several roots.
        with contextlib.suppress(SeveralRootsError):
            build()
    return UsersText(file, True, len(builders))


def named_models(arguments: Sequence[str]) -> list[str]:
    """The models that arguments name (folders, names on the hub, or NAME@REVISION), the run's own first.

    The run's own is the first one, or the last of a pattern of folders, a name with braces, or several revisions of one name.
    """
    names: list[str] = []
    ordered: list[str] = []
    patterns: list[str] = []
    for argument in arguments:
        # A folder may have spaces in its name.
        for name in [argument] if Path(argument).is_dir() else argument.split():
            if not set(name) & set("{}*?["):
                names.append(name)
                continue
            patterns.append(name)
            expanded = in_braces(name) if set(name) & set("{}") else sorted(filter(os.path.isdir, glob(name)), key=_in_order)
            if not expanded:
                raise AtlasError(f"{name}: no folder matches this pattern. Check the path.")
            names += expanded
            ordered += expanded
    if len(patterns) > 1:
        raise AtlasError(
            f"{' and '.join(patterns)}: the last model of a pattern is that of the run: use one pattern, or name the models."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise AtlasError(f"{repeated[0]}: this model is named twice; name it once.")
    if not names:
        raise AtlasError("Name a model: a folder, or one on the hub.")
    revisions = [name for name in names if "@" in name and not Path(name).is_dir()]
    if len(revisions) > 1 and len({name.rpartition("@")[0] for name in revisions}) == 1:
        ordered += [name for name in revisions if name not in ordered]
    first = ordered[-1] if ordered else names[0]
    return [first, *(name for name in names if name != first)]


def in_braces(name: str) -> list[str]:
    """The names that a name with one pair of braces stands for: m-seed_{0..4} or m@step{1,512,143000}."""
    match = _BRACES.fullmatch(name)
    if match is None:
        raise AtlasError(f"{name}: write one range of numbers, {{0..4}}, or several names, {{1,512}}, in one pair of braces.")
    before, first, last, listed, after = match.groups()
    if listed:
        return [f"{before}{part}{after}" for part in listed.split(",")]
    if not int(first) < int(last) < int(first) + _MOST_IN_BRACES:
        raise AtlasError(f"{name}: a range goes from a smaller to a larger number and has at most {_MOST_IN_BRACES} numbers.")
    return [f"{before}{number}{after}" for number in range(int(first), int(last) + 1)]


def _in_order(path: str) -> list[tuple[int, str]]:
    """Numbers in a name by their size: step2 before step10."""
    parts = re.split(r"(\d+)", path)
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def model_entry(model: str) -> dict[str, Any]:
    """Entry of a model in the registry. Of one on the hub that is not on this machine, config.json is downloaded."""
    folder = Path(model)
    if folder.is_dir():
        source = {"path": str(folder.resolve())}
        shape = shape_of(locate({"source": source}))
        if not any((folder / name).is_file() for name in _TOKENIZERS):
            raise AtlasError(f"{model}: there is no tokenizer here: put the tokenizer.json of the model into this folder.")
        return {"source": source, **shape}
    name, _, revision = model.partition("@")
    if name.count("/") > 1 or name.startswith((".", "~", "/")):
        raise AtlasError(f"{model}: there is no such folder.")
    source = {"hub": name} | ({"revision": revision} if revision else {})
    try:
        return {"source": source, **shape_of(at_hand(MODELS, source) or _with_configuration(source))}
    except AtlasError as error:
        raise AtlasError(f"{model}: there is no such folder, and no such model to download: {error}") from error


def _with_configuration(source: Mapping[str, Any]) -> Path:
    """Folder with the config.json of a model on the hub that has weights, as far as the hub lists its files."""
    from huggingface_hub import HfApi

    commit = resolved_commit(MODELS, source)
    try:
        files = {file.rfilename for file in HfApi().model_info(source["hub"], revision=commit).siblings or ()}
    except Exception as error:  # the hub client raises a dozen kinds
        raise refusal(MODELS, source, error) from error
    if files and files.isdisjoint(WEIGHT_FILES):
        raise AtlasError(f"{source['hub']} at {reference_of(source)}: this repository has none of {', '.join(WEIGHT_FILES)}.")
    return fetch(MODELS, source, ["config.json"])


def shape_of(folder: Path) -> dict[str, int]:
    """Layers, heads and hidden size of the part of the model in a folder that reads text."""
    part = empty_model(configuration(folder), folder)
    _, layers, heads = self_attention(part)
    return {"layers": layers, "heads": heads, "hidden_size": part.config.hidden_size}


def overlay(models: str | Sequence[str], text_path: str | Path | None = None) -> tuple[str, dict[str, Any]]:
    """Name of the run of models, and the configuration that overlays config.yaml.

    The run's model is compared with the others, and with its own architecture with random weights.
    """
    text = users_text(text_path) if text_path else None
    chosen = named_models([models] if isinstance(models, str) else models)
    entries: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for model in chosen:
        names[model] = name = _unused(_registry_name(model), entries)
        entries[name] = model_entry(model)
    name = names[chosen[0]]
    entry = entries[name]
    control = _unused(f"{name}-random", entries)
    measured_on = f"{text.path.name}; coreference and keyphrases: " if text and text.has_trees else ""
    beside = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
    title = f"{name}{beside} ({measured_on}generated English)"
    atlas: dict[str, Any] = {"compared": [*(other for other in entries if other != name), control]}
    further: dict[str, Any] = {}
    run = _run_name(list(names.values()))
    settings: dict[str, Any] = {"extends": "any", "title": title, "model": name, "atlas": atlas}
    if text:
        corpus = f"text-{_plain_name(text.path.name.partition('.')[0]) or 'file'}"
        run = f"{run}-on-{corpus.removeprefix('text-')}"
        further["corpora"] = {corpus: text.entry()}
        atlas["shown_sentences"] = _TEXT_SHOWN
        if text.has_trees:
            atlas["sentences"] = corpus
            settings["clark2019"] = {"dependencies": corpus}
        else:
            atlas["shown"] = corpus
    return run, {
        "targets": [run],
        "models": {**entries, control: {**entry, "init": "random", "seed": 1}},
        "runs": {run: settings},
        **further,
    }


def check_files(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that the folders of models, entries of `overlay`, have weights, before anything is written."""
    folders = {name: {"init": "pretrained", **entry} for name, entry in entries.items() if "path" in entry["source"]}
    for name in folders:
        requirement = model_requirement({"models": folders}, name)
        if requirement is not None and requirement.state == MISSING:
            raise AtlasError(requirement.sentence)


def linked_figures(run: str, added: Mapping[str, Any]) -> list[str]:
    """Figures of a run of `overlay` that its page links to."""
    config = without_missing(resolve_config(merged(read_configuration(ROOT), added)))
    figures = StudyInputs(config, "atlas").of_run("figures")(SimpleNamespace(run=run))
    return list(dict.fromkeys(path for paths in figures.values() for path in paths))


def _registry_name(model: str) -> str:
    """Name of a model in the registry: folders are often called by what they are (hf, step10), their parents by the model."""
    name, _, revision = (str(Path(model).resolve()), "", "") if Path(model).is_dir() else model.partition("@")
    parts = [part for part in Path(name).parts if part != "/"][-2:]
    return "-".join(filter(None, map(_plain_name, (*parts, revision)))) or "model"


def _unused(name: str, entries: Mapping[str, Any]) -> str:
    """A name, with a number behind it where it is taken."""
    return next(free for free in (name, *(f"{name}-{k}" for k in range(2, len(entries) + 3))) if free not in entries)


def _run_name(names: Sequence[str]) -> str:
    """Name of the run of these models; of many, with a digest of them."""
    joined = "-".join(names)
    if len(joined) <= _LONGEST_NAME:
        return f"atlas-{joined}"
    digest = hashlib.sha256(" ".join(names).encode()).hexdigest()[:6]
    return f"atlas-{names[0]}-and-{len(names) - 1}-more-{digest}"


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
    parser.add_argument("model", nargs="+")
    parser.add_argument("--text", type=Path, help="sentences to show, one on each line, or CoNLL-U")
    parser.add_argument("--keep", action="store_true", help="do not open the page")
    parser.add_argument("--cores", default="all")
    chosen = parser.parse_args()
    try:
        run, added = overlay(chosen.model, chosen.text)
        check_files(added["models"])
        notes = text_notes(users_text(chosen.text)) if chosen.text else []
        targets = ["atlas", *linked_figures(run, added)]
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    folder = ROOT / "results" / run
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(added, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/local", "--cores", chosen.cores]
    code = subprocess.call([*command, "--configfile", "config.yaml", str(folder / "config.yaml"), "--", *targets], cwd=ROOT)
    if code:
        return code
    page = folder / "atlas" / "atlas.html"
    print(page.relative_to(ROOT))
    if not chosen.keep:
        webbrowser.open(page.as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main())
