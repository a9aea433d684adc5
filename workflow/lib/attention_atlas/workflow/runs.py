"""What a run reads: its studies, models, corpora, records and shards, looked up in the resolved configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.corpora.mirror import in_mirror

# Study -> its keys that name a corpus -> the reader that the corpus needs. An artefact whose role a run does not name is no
# artefact of that run; the schema says which roles every run of a study has to name.
ROLES: dict[str, dict[str, str]] = {
    "clark2019": {
        "segments": "segments",
        "dependencies": "conllu",
        "coreference": "conll2012",
        "coreference_windows": "conll2012",
        "gap": "gap",
        "probe_training": "conllu",
        "vectors": "vectors",
    },
    "guan2020": {"questions": "squad"},
    "kovaleva2019": {"frames": "frames"},
    "michel2019": {
        "translation": "parallel",
        "translation_other": "parallel",
        "translation_importance": "parallel",
        "classification": "glue",
        "classification_other": "glue",
        "classification_importance": "glue",
        "dynamics": "parallel",
        "dynamics_importance": "parallel",
    },
    "tenney2019": {"cases": "edges"},
    "stefanik2021": {"documents": "keyphrases", "development": "keyphrases", "test": "keyphrases"},
    # What is made from the tables of all studies of a run.
    "atlas": {"sentences": "conllu"},
    "scoreboard": {},
}
STUDIES = tuple(ROLES)


def study_runs(config: Mapping[str, Any], study: str, runs: list[str] | None = None) -> list[str]:
    """Names of the runs (of `runs`, default: the targets) that contain `study`."""
    return [run for run in (runs if runs is not None else config["targets"]) if study in config["runs"][run]]


def limit_of(config: Mapping[str, Any], run: str, corpus: str) -> int:
    """Records of `corpus` that `run` reads at most."""
    return config["runs"][run]["limits"].get(corpus, config["corpora"][corpus]["limit"])


def shard_count(config: Mapping[str, Any], run: str, corpus: str, records: int | None = None) -> int:
    """Number of (whole) shards that hold the records of `corpus` in `run`, or its first `records` of them."""
    limit = limit_of(config, run, corpus)
    return -(-min(limit, limit if records is None else records) // config["corpora"][corpus]["shard"])


def study_model(config: Mapping[str, Any], run: str, study: str) -> str:
    """Name of the model that `study` looks at in `run`."""
    settings = config["runs"][run][study]
    if "family" in settings:
        return str(config["families"][settings["family"]]["base"])
    return settings.get("model") or config["runs"][run]["model"]


def family_member(family: str, task: str, seed: int, random: bool = False) -> str:
    """Name of a model of a family."""
    return f"{family}-{task}-{'random-' if random else ''}{seed}"


def family_seeds(config: Mapping[str, Any], family: str, task: str, random: bool = False) -> list[int]:
    """Seeds of the models that a family trains on a task, from pre-trained or from random weights."""
    entry, key = config["families"][family], "random_seeds" if random else "seeds"
    return list(entry["tasks"][task].get(key, entry[key]))


def study_corpora(config: Mapping[str, Any], run: str, study: str) -> dict[str, str]:
    """Role -> corpus of `study` in `run`, for the roles that the run names."""
    settings = config["runs"][run][study]
    return {role: settings[role] for role in ROLES[study] if role in settings}


def local_file(config: Mapping[str, Any], corpus: str) -> Path:
    """The file (or folder) of a corpus with a source of kind path: where it says, else below the mirror if it is there."""
    source = config["corpora"][corpus]["source"]
    path = Path(source["path"])
    mirrored = in_mirror(source, config["data_mirror"])
    return mirrored if not path.exists() and mirrored is not None and mirrored.exists() else path


def missing_files(config: Mapping[str, Any], corpora: Iterator[str] | list[str]) -> dict[str, str]:
    """Corpora of `corpora` whose local file is not there -> one sentence with file, licence and layout."""
    gaps = {}
    for name in corpora:
        entry = config["corpora"][name]
        path = entry["source"].get("path")
        # Coreference comes as a folder of files, too, and what is made from it, and FrameNet.
        there = Path.exists if entry["reader"] in ("conll2012", "frames", "edges") else Path.is_file
        if path and not there(local_file(config, name)):
            licence = f" Licence: {entry['licence']}." if "licence" in entry else ""
            layout = f" Expected layout: {entry['layout']}." if "layout" in entry else ""
            gaps[name] = f"corpus {name}: the file {path} is not there.{licence}{layout}"
    return gaps
