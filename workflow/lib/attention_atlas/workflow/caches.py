"""Caches of a run: their sizes, and which of them no pending job reads.

Snakemake rebuilds a missing file only if a pending job reads it. A cache without pending readers can therefore be removed
without making any table out of date; it is rebuilt when a change of code or configuration makes a reader run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attention_atlas.workflow.lookups import Config

ATTENTION, HIDDEN, WEIGHTS = "attention", "hidden states", "weights"
# Version 0.1 cached hidden states; no job makes them any more, so they can be removed.
_FOLDERS = {ATTENTION: "attention", HIDDEN: "hidden"}
_WEIGHT_FILES = ("checkpoint/model.safetensors", "epochs.safetensors")


@dataclass(frozen=True)
class Cache:
    """Files of a run that can be rebuilt.

    Attributes:
        run: name of the run.
        kind: attention of a model on a corpus (and hidden states left by version 0.1), or the weights of a model trained in
            the run.
        model, corpus: names in the registries; weights have no corpus.
        files: paths relative to the folder of the workflow.
        size: total size in bytes.
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
        readers: rules of the pending jobs that read it.
        makers: rules of the pending jobs that make it.
        part_of_run: whether any job of the run, finished or pending, makes it.
    """

    readers: tuple[str, ...]
    makers: tuple[str, ...]
    part_of_run: bool

    @property
    def removable(self) -> bool:
        """Whether no pending job reads or makes it."""
        return not self.readers and not self.makers


def attention_output(path: str, config: Config, temporary: Callable[[str], str]) -> str:
    """Output path for the maps of a shard, marked temporary unless the run keeps attention.

    Args:
        path: path of the shard, with wildcards.
        config: the resolved configuration.
        temporary: Snakemake's `temp`, which marks an output as temporary. Files that a target rule requests are kept.
    """
    return path if config["keep_attention"] else temporary(path)


def caches(folder: Path, run: str) -> list[Cache]:
    """Caches of a run, largest first.

    Args:
        folder: folder of the workflow, which contains `results`.
        run: name of the run.
    """
    listed = [*_of_shards(folder, run), *_of_models(folder, run)]
    return sorted(listed, key=lambda cache: (-cache.size, cache.kind, cache.model, cache.corpus))


def use_of(cache: Cache, to_do: Iterable[tuple[str, Iterable[str], Iterable[str]]], outputs: Iterable[str]) -> Use:
    """Which jobs need a cache.

    Args:
        cache: the cache.
        to_do: rule, inputs and outputs of each pending job.
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
    """Remove the files of a cache and any folders left empty."""
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
