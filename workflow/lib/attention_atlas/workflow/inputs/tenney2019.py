"""Inputs and parameters of the rules of Tenney et al. (2019): tasks, and the examples of up to three models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.study import ID, PARTS, tasks_of
from attention_atlas.workflow.inputs.nested import leaves
from attention_atlas.workflow.inputs.shared import Files, Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config, limit_of
from attention_atlas.workflow.paths import shard_paths

EDGE_TABLES = {"scores": "scores.tsv", "weights": "weights.tsv", "counts": "counts.parquet"}
"""Kind of table -> suffix of its file."""
RANDOM_TABLES = {"random_scores": "scores.tsv", "random_counts": "counts.parquet"}
"""The same for the model with random layers."""
Tables = dict[str, dict[str, str]]
"""Task -> kind -> file."""


class Tenney2019Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    # --- jobs of probes ---------------------------------------------------------------------------------------------

    def probed_task(self, wildcards: Wildcards) -> dict[str, Any]:
        """Training data and options of a task's probes, see `probing.ProbedTask`."""
        chosen = self.study_settings(wildcards)
        # Figure 3 shows sentences only for the run's model and the other model.
        cases = chosen.get("cases") if self._probes_all_layers(wildcards) else None
        entry, place = chosen["tasks"][wildcards.task], (wildcards.run, wildcards.model)
        return {part: self._probed_corpus(*place, entry[part]) for part in PARTS} | {
            "cases": self._probed_corpus(*place, cases) if cases else None,
            "recipe": _recipe(chosen, entry),
        }

    def _probed_corpus(self, run: str, model: str, corpus: str) -> dict[str, Any]:
        """Files of a corpus and the number of records that the run reads, see `probing.ProbedCorpus`."""
        return {
            "examples": shard_paths(self.config, run, model, corpus, "examples", "parquet"),
            "limit": limit_of(self.config, run, corpus),
        }

    def probed_files(self, wildcards: Wildcards) -> list[str]:
        """All examples of a task."""
        task = self.probed_task(wildcards)
        return list(dict.fromkeys(path for part in (*PARTS, "cases") if task[part] for path in task[part]["examples"]))

    def _probes_all_layers(self, wildcards: Wildcards) -> bool:
        """Whether all layers are probed; for the model with random layers, only the first and the last."""
        return bool(wildcards.model != self.study_settings(wildcards).get("random_model"))

    def probe_plan(self, wildcards: Wildcards) -> dict[str, Any]:
        """Which probes a job trains, see `probing.Plan`."""
        chosen, whole = self.study_settings(wildcards), self._probes_all_layers(wildcards)
        return {
            "seeds": chosen["seeds"],
            "layer0": chosen["layer0"] if whole else ["embeddings"],
            "whole": whole,
            # Only the layers of the other model are compared (Figure A.3).
            "controls": wildcards.model == self.base_model(wildcards.run),
            "max_targets": chosen.get("max_targets"),
            "max_traced_sentences": chosen["max_traced_sentences"],
        }

    # --- tables of probes-------------------------------------------------------------------------------------------

    def edge_files(self, suffix: str) -> Files:
        """Files of all tasks, for the run's model."""

        def paths(wildcards: Wildcards) -> list[str]:
            run = wildcards.run
            return [edge_path(run, self.base_model(run), task, suffix) for task in tasks_of(self.config, run)]

        return paths

    def _tables(self, run: str, model: str, kinds: Mapping[str, str]) -> Tables:
        return {
            task: {kind: edge_path(run, model, task, suffix) for kind, suffix in kinds.items()}
            for task in tasks_of(self.config, run)
        }

    def _random_tables(self, run: str) -> Tables:
        """Task -> its files for the model with random layers; empty if the run names no such model."""
        model = self.config["runs"][run][ID].get("random_model")
        return {} if model is None else self._tables(run, model, RANDOM_TABLES)

    def random_edge_files(self, wildcards: Wildcards) -> list[str]:
        """Tables of probes on the model with random layers, if the run names one."""
        tables = self._random_tables(wildcards.run)
        return list(dict.fromkeys(path for kind in RANDOM_TABLES for files in tables.values() for path in [files[kind]]))

    def edge_tables(self, wildcards: Wildcards) -> Tables:
        """Task -> its files by kind."""
        run = wildcards.run
        tables = self._tables(run, self.base_model(run), EDGE_TABLES)
        for task, files in self._random_tables(run).items():
            tables[task].update(files)
        return tables

    def evaluated_corpora(self, wildcards: Wildcards) -> dict[str, dict[str, Any]]:
        """Task -> files and number of the examples that its probes on the run's model are evaluated on."""
        run = wildcards.run
        tasks = tasks_of(self.config, run)
        return {task: self._probed_corpus(run, self.base_model(run), entry["development"]) for task, entry in tasks.items()}

    def evaluated_files(self, wildcards: Wildcards) -> list[str]:
        """Files of all these examples."""
        paths = [path for corpus in self.evaluated_corpora(wildcards).values() for path in corpus["examples"]]
        return list(dict.fromkeys(paths))

    def second_model(self, wildcards: Wildcards) -> str:
        """Name of the run's second model.

        Raises:
            AtlasError: the run names no second model.
        """
        chosen = self.study_settings(wildcards)
        if "second_model" not in chosen:
            raise AtlasError(f"runs.{wildcards.run}.{ID} names no second_model, which Figure A.3 needs: add it to the run.")
        return str(chosen["second_model"])

    def second_tables(self, wildcards: Wildcards) -> Tables:
        """Task -> its files for the second model, by kind; errors as for `second_model`."""
        return self._tables(wildcards.run, self.second_model(wildcards), EDGE_TABLES)

    def second_files(self, wildcards: Wildcards) -> list[str]:
        """The same as a list."""
        return leaves(self.second_tables)(wildcards)

    def task_recipes(self, wildcards: Wildcards) -> dict[str, dict[str, Any]]:
        """Task -> hyperparameters of its probes (see `recipe.Recipe`) and the maximum number of targets per sentence."""
        chosen = self.study_settings(wildcards)
        tasks = tasks_of(self.config, wildcards.run)
        return {task: _recipe(chosen, entry) | {"max_targets": chosen.get("max_targets")} for task, entry in tasks.items()}

    def task_labels(self, wildcards: Wildcards) -> dict[str, Any]:
        """Task -> label of what its probes are evaluated on."""
        return self._labels(wildcards, self.base_model(wildcards.run))

    def second_labels(self, wildcards: Wildcards) -> dict[str, Any]:
        """The same for the second model; empty if the run names none."""
        model = self.study_settings(wildcards).get("second_model")
        return self._labels(wildcards, model) if model else {}

    def _labels(self, wildcards: Wildcards, model: str) -> dict[str, Any]:
        return {
            task: self.label_of(wildcards, model, entry["development"])
            for task, entry in tasks_of(self.config, wildcards.run).items()
        }


def _recipe(settings: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """Training settings of all tasks, overridden by those of a task."""
    return settings["training"] | {key: task[key] for key in ("evaluation_interval", "max_steps") if key in task}


def edge_path(run: str, model: str, task: str, suffix: str) -> str:
    """A file of the probes of a task, for all seeds."""
    return f"results/{run}/{ID}/probes/{model}/{task}.{suffix}"


INPUTS = Tenney2019Inputs
