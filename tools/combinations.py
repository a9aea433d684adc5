"""What a run exercises: every combination of rule, reader, task, model shape and role in its planned jobs.

python tools/combinations.py     combinations of the run paper that the run rehearsal does not have
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from tools.plan import Job, planned_jobs  # noqa: E402

from attention_atlas.workflow.config import read_configuration, resolve  # noqa: E402
from attention_atlas.workflow.studies import studies  # noqa: E402

_NAMES = ("run", "model", "corpus", "shard", "seed")
"""Wildcards that name a model or a corpus, which is described in place of its name, or count."""
_OF_CORPUS = ("reader", "format", "task", "level", "windows", "recipe", "segment_ids", "part", "overlong", "order", "languages")
_OF_SOURCE = ("path", "url", "hub", "sacrebleu", "sample", "package", "fine_tuned", "untrained")


class Combination(NamedTuple):
    """What one job does, without names, shards, seeds and parts.

    Attributes:
        rule: its rule.
        wildcards: values that choose what the rule does, such as a task or a variant.
        model: layers, heads, initial weights, kind of source and task of a model that it reads or makes; () for none.
        corpus: reader with its options, and kind of source; () for none.
        roles: what the run names the model and the corpus for.
    """

    rule: str
    wildcards: tuple[str, ...]
    model: tuple[str, ...]
    corpus: tuple[str, ...]
    roles: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.rule, *(" ".join(part) for part in self[1:]))))


def combinations(config: Mapping[str, Any], run: str, jobs: Iterable[Job]) -> set[Combination]:
    """The combinations of all jobs of a run.

    Args:
        config: the resolved configuration.
        run: its name.
        jobs: as they are planned.
    """
    known = _Described(config, run)
    return {
        Combination(job.rule, wildcards, known.model(model), known.corpus(corpus), known.roles(model, corpus))
        for job in jobs
        for wildcards in [tuple(f"{key}={value}" for key, value in sorted(job.wildcards.items()) if key not in _NAMES)]
        for model, corpus in known.pairs(job)
    }


class _Described:
    """Models and corpora of a run without their names."""

    def __init__(self, config: Mapping[str, Any], run: str) -> None:
        self._models, self._corpora = config["models"], config["corpora"]
        self._roles: dict[str, set[str]] = {}
        settings = {study: config["runs"][run][study] for study in studies() if study in config["runs"][run]}
        for place, value in _leaves({"model": config["runs"][run].get("model"), **settings}):
            self._roles.setdefault(value, set()).add(place)
        for model in self._models.values():
            if training := model.get("training"):
                self._roles.setdefault(training["corpus"], set()).add(f"training for {training['task']}")

    def pairs(self, job: Job) -> set[tuple[str, str]]:
        """(model, corpus) of the files of a job and of its wildcards; "" for none."""
        pairs = {(job.wildcards.get("model", ""), job.wildcards.get("corpus", ""))}
        for path in (*job.inputs, *job.outputs):
            parts = path.split("/")[2:] if path.startswith("results/") else []
            model = next((part for part in parts if part in self._models), "")
            corpus = next((part.split(".")[0] for part in parts if part.split(".")[0] in self._corpora), "")
            pairs.add((model, corpus))
        pairs = {(self._known(model, self._models), self._known(corpus, self._corpora)) for model, corpus in pairs}
        return pairs - {("", "")} or {("", "")}

    @staticmethod
    def _known(name: str, registry: Mapping[str, Any]) -> str:
        return name if name in registry else ""

    def model(self, name: str) -> tuple[str, ...]:
        """Layers x heads, initial weights, kind of source, and what it is trained for."""
        if not name:
            return ()
        entry = self._models[name]
        training = entry.get("training", {})
        task = self._corpora[training["corpus"]].get("task", "") if training else ""
        source = next(kind for kind in _OF_SOURCE if kind in entry["source"])
        shape = f"{entry['layers']}x{entry['heads']}"
        return tuple(filter(None, (shape, entry["init"], source, training.get("task", ""), task)))

    def corpus(self, name: str) -> tuple[str, ...]:
        """Reader, what is set of it, and kind of source."""
        if not name:
            return ()
        entry = self._corpora[name]
        options = [str(entry[key]) for key in _OF_CORPUS if key in entry]
        tasks = entry.get("edge_tasks", [])
        source = next(kind for kind in _OF_SOURCE if kind in entry["source"])
        return (*options, *tasks, source)

    def roles(self, *names: str) -> tuple[str, ...]:
        """What the run names these models and corpora for."""
        return tuple(sorted(set().union(*(self._roles.get(name, set()) for name in names))))


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """All texts in settings with their keys; places in lists are left out."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, place)
    elif isinstance(value, str):
        yield place, value


def planned_combinations(run: str, configuration: Mapping[str, Any]) -> set[Combination]:
    """The combinations of a run from scratch; licensed files need not be there."""
    return combinations(resolve(configuration), run, planned_jobs(run, dict(configuration)))


def main() -> None:
    """Print what is not rehearsed."""
    from tools.rehearse import RUN, configuration

    paper = planned_combinations("paper", read_configuration(ROOT))
    rehearsed = planned_combinations(RUN, configuration({}))
    missing = sorted(map(str, paper - rehearsed))
    print(f"{len(paper)} combinations of the run paper, {len(missing)} of them not in the run {RUN}")
    print("\n".join(missing))
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
