"""Small configurations for tests and the message for a wrong one; the shipped configuration, and wildcards of its jobs."""

import copy
import functools
from pathlib import Path
from typing import Any

import pytest
from snakemake.iocontainers import Wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import read_configuration, resolve

SHIPPED = read_configuration(Path(__file__).parents[2])
SMALL = {
    "targets": ["one"],
    "models": {"tiny": {"source": {"path": "models/tiny"}}, "large": {"source": {"path": "models/large"}}},
    "corpora": {
        "pairs": {"reader": "segments", "source": {"sample": "sentences.txt"}, "limit": 10},
        "trees": {"reader": "conllu", "source": {"path": "nowhere/trees.conllu"}, "limit": 10},
    },
    "runs": {"one": {"model": "tiny", "clark2019": {"segments": "pairs", "dependencies": "trees"}}},
}
ABSENT = object()


def changed(place: str, value: object, base: dict = SMALL) -> dict:
    """A copy of `base` with one value set (or, ABSENT, taken away); `place` is parted by slashes."""
    config = copy.deepcopy(base)
    *folders, key = place.split("/")
    node = config
    for folder in folders:
        node = node.setdefault(folder, {})
    if value is ABSENT:
        del node[key]
    else:
        node[key] = value
    return config


def sentence(config: dict) -> str:
    with pytest.raises(AtlasError) as caught:
        resolve(config)
    return str(caught.value)


def give_model(folder: Path, entry: dict) -> None:
    """Put files without content where a registry entry of kind path expects its model."""
    if "path" in entry["source"]:
        place = folder / entry["source"]["path"]
        place.mkdir(parents=True, exist_ok=True)
        for name in ("config.json", "model.safetensors"):
            (place / name).write_text("{}", encoding="utf-8")


FAMILY = {
    "families": {
        "small": {
            "base": "tiny",
            "tasks": {"rte": {"corpus": "rte-train"}, "mrpc": {"corpus": "mrpc-train", "seeds": [7], "random_seeds": [8, 9]}},
            "seeds": [1, 2],
            "random_seeds": [3],
            "training": {"epochs": 2},
        }
    },
    "corpora": {
        f"{task}-{part}": {"reader": "glue", "task": task, "source": {"path": f"{task}.tsv"}, "limit": 10}
        for task in ("rte", "mrpc")
        for part in ("train", "dev")
    },
}


def with_family(**changed):
    raw = copy.deepcopy(SMALL)
    raw["corpora"] |= FAMILY["corpora"]
    raw["families"] = copy.deepcopy(FAMILY["families"])
    raw["runs"]["one"]["kovaleva2019"] = {
        "family": "small",
        "tasks": {"rte": "rte-dev", "mrpc": "mrpc-dev"},
        "patterns": {"model": "tiny"},
    } | changed
    return raw


@functools.cache
def shipped(missing: str = "error") -> dict[str, Any]:
    """The shipped configuration, resolved; what `missing` says about files that are not there."""
    return resolve(SHIPPED | {"missing": missing})


def shipped_copy(missing: str = "error") -> dict[str, Any]:
    """The same, to be changed by a test."""
    return copy.deepcopy(shipped(missing))


def wildcards(run: str = "sample", **names: object) -> Wildcards:
    """Wildcards of a job, as Snakemake gives them to input functions: all values are text."""
    return Wildcards(fromdict={"run": run, **{name: str(value) for name, value in names.items()}})
