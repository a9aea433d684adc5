"""Models, corpora and shards of a run, by the resolved configuration, and paths of their files."""

from __future__ import annotations

import functools
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import is_tar_archive, with_data_file
from attention_atlas.io.hub_files import in_mirror

NAME = "[a-z0-9][a-z0-9.-]*"
"""Pattern of names of models and corpora (`name` in the schema): a list of all of them takes long to compile."""


def one_of(names: Iterable[str]) -> str:
    """Pattern that matches exactly the listed names; without names it matches nothing."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


Config = Mapping[str, Any]  # the resolved configuration
Pair = tuple[str, str]  # A model and a corpus, by their names in the registries
FOLDER_READERS = ("conll2012", "keyphrases")
"""Readers that also read a folder of files: coreference, keyphrases (and some formats of the reader edges)."""
RELEASED_MAPS = "released_maps"  # the reader of corpora whose attention is read, not computed


def study_runs(config: Config, study: str, runs: list[str] | None = None) -> list[str]:
    """Names of the runs (of `runs`, default: the targets) that contain `study`."""
    return [run for run in (runs if runs is not None else config["targets"]) if study in config["runs"][run]]


def limit_of(config: Config, run: str, corpus: str, counted: bool = True) -> int:
    """Records of `corpus` that `run` reads at most: its limit, or (`counted`) as many as the user's file has, if fewer."""
    entry = config["corpora"][corpus]
    limit = int(config["runs"][run]["limits"].get(corpus, entry["limit"]))
    places = tuple(str(path.absolute()) for path in local_files(config, corpus))
    if not counted or not places:
        return limit
    return max(1, min(limit, _counted(json.dumps(entry), places, limit + entry["skip"]) - entry["skip"]))


@functools.cache
def _counted(entry: str, places: tuple[str, ...], limit: int) -> int:
    """Records of a file (and its second file) of a corpus with an entry in JSON, counted up to a limit."""
    from attention_atlas.corpora.records import most_records

    file = Path(places[0])
    # Gigabytes would be read at every start; jobs count the texts.
    if (
        json.loads(entry)["reader"] == RELEASED_MAPS
        or not file.is_file()
        or not file.stat().st_size
        or zipfile.is_zipfile(file)
        or is_tar_archive(file)
    ):
        return limit
    try:
        return most_records(json.loads(entry), file, places[1] if len(places) > 1 else None, limit)
    except AtlasError:
        return limit


def shard_count(config: Config, run: str, corpus: str, records: int | None = None) -> int:
    """Number of (whole) shards with the records of `corpus` in `run`, or with the first `records` of them."""
    limit = limit_of(config, run, corpus)
    size = int(config["corpora"][corpus]["shard"])
    return -(-min(limit, limit if records is None else records) // size)


def companions_of(config: Config, corpus: str) -> list[str]:
    """Corpora that a corpus names: the one whose file is its second file."""
    return [config["corpora"][corpus][key] for key in ("trees", "translations") if key in config["corpora"][corpus]]


def study_model(config: Config, run: str, study: str) -> str:
    """Name of the model that `study` analyses in `run`."""
    settings = config["runs"][run][study]
    if "family" in settings:
        return str(config["families"][settings["family"]]["base"])
    return str(settings.get("model") or config["runs"][run]["model"])


def family_member(family: str, task: str, seed: int, random: bool = False) -> str:
    return f"{family}-{task}-{'random-' if random else ''}{seed}"


def family_seeds(config: Config, family: str, task: str, random: bool = False) -> list[int]:
    """Seeds of the models that a family trains on a task, from pre-trained or from random weights."""
    entry, key = config["families"][family], "random_seeds" if random else "seeds"
    return list(entry["tasks"][task].get(key, entry[key]))


def local_file(config: Config, corpus: str) -> Path:
    """The file (or folder) of a corpus with a source of kind path: at that path, in the library, or below the mirror."""
    source = config["corpora"][corpus]["source"]
    path = Path(source["path"])
    path = path if path.exists() else with_data_file(path)
    mirrored = in_mirror(source, config["data_mirror"])
    return mirrored if not path.exists() and mirrored is not None and mirrored.exists() else path


def local_files(config: Config, corpus: str) -> list[Path]:
    """The file of a corpus and its second file, if it has one; empty unless all are the user's."""
    names = (corpus, *companions_of(config, corpus))
    by_path = all("path" in config["corpora"][name]["source"] for name in names)
    return [local_file(config, name) for name in names] if by_path else []


def has_files(config: Config, corpora: Iterable[str]) -> bool:
    """Whether the local file or folder of every corpus exists; generated and downloaded corpora count as present."""
    for name in corpora:
        entry = config["corpora"][name]
        exists = Path.exists if entry["reader"] in (*FOLDER_READERS, "edges") else Path.is_file
        if "path" in entry["source"] and not exists(local_file(config, name)):
            return False
    return True


def shard_paths(
    config: Config, run: str, model: str, corpus: str, folder: str, suffix: str, records: int | None = None
) -> list[str]:
    """Paths of the shards with the first records of a corpus (default: all that the run reads)."""
    owner = tokenised_by(config, model) if folder == "examples" else model
    return [
        f"results/{run}/{folder}/{owner}/{corpus}/{shard}.{suffix}"
        for shard in range(shard_count(config, run, corpus, records))
    ]


def card_path(run: str, model: str) -> str:
    return f"results/{run}/models/{model}/card.json"


def checkpoint_path(run: str, model: str) -> str:
    """The weights of a model that is fine-tuned in the workflow."""
    return f"results/{run}/models/{model}/checkpoint/model.safetensors"


def base_of(config: Config, model: str) -> str:
    return str(config["models"][model]["source"]["fine_tuned"])


def tokenised_by(config: Config, model: str) -> str:
    """The model whose examples a model reads: its base, or the first model in the registry with the same files."""
    models = config["models"]
    while is_fine_tuned(config, model):
        model = base_of(config, model)
    return str(next(name for name, entry in models.items() if entry["source"] == models[model]["source"]))


def is_fine_tuned(config: Config, model: str) -> bool:
    return "fine_tuned" in config["models"][model]["source"]
