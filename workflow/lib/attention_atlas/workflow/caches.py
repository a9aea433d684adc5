"""Caches of a run that is built: how large they are, and which of them no job that is still to do reads.

Snakemake makes a missing file again only if a job that is to do reads it. So a cache of whose readers none is to do can be
removed, and no table is out of date for that; it is made again when code or configuration change what reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attention_atlas.workflow.lookups import Config

ATTENTION, HIDDEN, WEIGHTS = "attention", "hidden states", "weights"
# Version 0.1 cached hidden states; no job makes them now, so what is left can be removed.
_FOLDERS = {ATTENTION: "attention", HIDDEN: "hidden"}
_WEIGHT_FILES = ("checkpoint/model.safetensors", "epochs.safetensors")


@dataclass(frozen=True)
class Cache:
    """Files of a run that can be made again.

    Attributes:
        run: name of the run.
        kind: attention of a model on a corpus (and hidden states that version 0.1 left), or the weights of a model that is
            trained in the run.
        model, corpus: by their names in the registries; no corpus for weights.
        files: below the folder of the workflow.
        size: bytes of all files.
    """

    run: str
    kind: str
    model: str
    corpus: str
    files: tuple[Path, ...]
    size: int


@dataclass(frozen=True)
class Use:
    """Jobs that need a cache.

    Attributes:
        readers: rules of the jobs to do that read it.
        makers: rules of the jobs to do that make it.
        part_of_run: whether any job of the run, done or to do, makes it.
    """

    readers: tuple[str, ...]
    makers: tuple[str, ...]
    part_of_run: bool

    @property
    def removable(self) -> bool:
        """Whether no job that is to do reads or makes it."""
        return not self.readers and not self.makers


def attention_output(path: str, config: Config, temporary: Callable[[str], str]) -> str:
    """The output of a job for the maps of a shard, to be removed after its last reader where the run does not keep attention.

    Args:
        path: of the shard, with wildcards.
        config: the resolved configuration.
        temporary: Snakemake's `temp`, which marks an output so. What a target rule asks for by itself stays nevertheless.
    """
    return path if config["keep_attention"] else temporary(path)


def caches(folder: Path, run: str) -> list[Cache]:
    """Caches of a run, largest first.

    Args:
        folder: of the workflow, with `results`.
        run: name of the run.
    """
    listed = [*_of_shards(folder, run), *_of_models(folder, run)]
    return sorted(listed, key=lambda cache: (-cache.size, cache.kind, cache.model, cache.corpus))


def use_of(cache: Cache, to_do: Iterable[tuple[str, Iterable[str], Iterable[str]]], outputs: Iterable[str]) -> Use:
    """Which jobs need a cache.

    Args:
        cache: the cache.
        to_do: rule, inputs and outputs of each job that is to do.
        outputs: outputs of all jobs of the run.
    """
    files = {path.as_posix() for path in cache.files}
    readers, makers = [], []
    for rule, inputs, made in to_do:
        if not files.isdisjoint(inputs):
            readers.append(rule)
        if not files.isdisjoint(made):
            makers.append(rule)
    return Use(tuple(dict.fromkeys(readers)), tuple(dict.fromkeys(makers)), not files.isdisjoint(outputs))


def remove(folder: Path, cache: Cache) -> None:
    """Remove the files of a cache, and the folders that are empty then."""
    for path in cache.files:
        (folder / path).unlink(missing_ok=True)
    for parent in sorted({(folder / path).parent for path in cache.files}):
        for empty in (parent, parent.parent):
            if empty.is_dir() and not any(empty.iterdir()):
                empty.rmdir()


def _of_shards(folder: Path, run: str) -> Iterator[Cache]:
    for kind, name in _FOLDERS.items():
        place = folder / "results" / run / name
        for corpus in sorted(path for path in place.glob("*/*") if path.is_dir()):
            yield _cache(folder, run, kind, corpus.parent.name, corpus.name, sorted(corpus.iterdir()))


def _of_models(folder: Path, run: str) -> Iterator[Cache]:
    for model in sorted((folder / "results" / run / "models").glob("*")):
        files = [model / name for name in _WEIGHT_FILES if (model / name).is_file()]
        if files:
            yield _cache(folder, run, WEIGHTS, model.name, "", files)


def _cache(folder: Path, run: str, kind: str, model: str, corpus: str, files: Iterable[Path]) -> Cache:
    kept = tuple(path for path in files if path.is_file())
    size = sum(path.stat().st_size for path in kept)
    return Cache(run, kind, model, corpus, tuple(path.relative_to(folder) for path in kept), size)
