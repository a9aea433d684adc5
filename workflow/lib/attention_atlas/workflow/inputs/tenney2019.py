"""Inputs and parameters of the rules of Tenney et al. (2019): tasks, and the examples of up to three models."""

from __future__ import annotations

from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.study import ID, PARTS, seed_parts, seeds_in_path, tasks_in_path, tasks_of
from attention_atlas.workflow.inputs.nested import leaves
from attention_atlas.workflow.inputs.shared import Files, Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config, limit_of
from attention_atlas.workflow.paths import shard_paths

EDGE_TABLES = {"scores": "scores.tsv", "weights": "weights.tsv", "counts": "counts.parquet"}
"""Kind of table -> suffix of its file for a job of probes."""
RANDOM_TABLES = {"random_scores": "scores.tsv", "random_counts": "counts.parquet"}
"""The same for the model with random layers."""
Tables = dict[str, dict[str, str]]
"""Task -> kind -> file."""


class Tenney2019Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    # --- jobs of probes ---------------------------------------------------------------------------------------------

    def probed_tasks(self, wildcards: Wildcards) -> dict[str, Any]:
        """Task in the path -> training data and options of its probes, see `probing.ProbedTask`."""
        chosen = self.study_settings(wildcards)
        # Figure 3 shows sentences only for the run's model and the other model.
        cases = chosen.get("cases") if self._probes_all_layers(wildcards) else None
        tasks: dict[str, Any] = {}
        for task in tasks_in_path(wildcards):
            entry = chosen["tasks"][task]
            place = wildcards.run, wildcards.model
            tasks[task] = {part: self._probed_corpus(*place, entry[part]) for part in PARTS} | {
                "cases": self._probed_corpus(*place, cases) if cases else None,
                "recipe": _recipe(chosen, entry),
            }
        return tasks

    def _probed_corpus(self, run: str, model: str, corpus: str) -> dict[str, Any]:
        """Files of a corpus and the number of records that the run reads, see `probing.ProbedCorpus`."""
        return {
            "examples": shard_paths(self.config, run, model, corpus, "examples", "parquet"),
            "limit": limit_of(self.config, run, corpus),
        }

    def probed_files(self, wildcards: Wildcards) -> list[str]:
        """All examples of the tasks in the path."""
        corpora = [task[part] for task in self.probed_tasks(wildcards).values() for part in (*PARTS, "cases") if task[part]]
        return list(dict.fromkeys(path for corpus in corpora for path in corpus["examples"]))

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
            "seeds_of_job": seeds_in_path(chosen, wildcards),
        }

    def files_of_seeds(self, suffix: str) -> Files:
        """A file of each job that trains probes for a subset of the seeds."""

        def paths(wildcards: Wildcards) -> list[str]:
            folder = f"results/{wildcards.run}/{ID}/probes/{wildcards.model}/{wildcards.edge_tasks}"
            parts = seed_parts(self.study_settings(wildcards))
            return [f"{folder}/{part}.{suffix}" for part in range(len(parts))]

        return paths

    def task_names(self, wildcards: Wildcards) -> list[str]:
        """Tasks in the path, in their order."""
        return tasks_in_path(wildcards)

    # --- tables of probes-------------------------------------------------------------------------------------------

    def _edge_jobs(self, run: str) -> list[list[str]]:
        """Tasks of each job, `tasks_per_job` at a time."""
        tasks = list(tasks_of(self.config, run))
        size = self.config["runs"][run][ID]["tasks_per_job"]
        return [tasks[start : start + size] for start in range(0, len(tasks), size)]

    def edge_files(self, suffix: str) -> Files:
        """Files of all jobs, for the run's model."""

        def paths(wildcards: Wildcards) -> list[str]:
            run = wildcards.run
            return [edge_path(run, self.base_model(run), tasks, suffix) for tasks in self._edge_jobs(run)]

        return paths

    def _random_tables(self, run: str) -> Tables:
        """Task -> its files for the model with random layers; empty if the run names no such model."""
        model = self.config["runs"][run][ID].get("random_model")
        if model is None:
            return {}
        return {
            task: {kind: edge_path(run, model, tasks, suffix) for kind, suffix in RANDOM_TABLES.items()}
            for tasks in self._edge_jobs(run)
            for task in tasks
        }

    def random_edge_files(self, wildcards: Wildcards) -> list[str]:
        """Tables of probes on the model with random layers, if the run names one."""
        tables = self._random_tables(wildcards.run)
        return list(dict.fromkeys(path for kind in RANDOM_TABLES for files in tables.values() for path in [files[kind]]))

    def _model_tables(self, run: str, model: str) -> Tables:
        return {
            task: {kind: edge_path(run, model, tasks, suffix) for kind, suffix in EDGE_TABLES.items()}
            for tasks in self._edge_jobs(run)
            for task in tasks
        }

    def edge_tables(self, wildcards: Wildcards) -> Tables:
        """Task -> its files by kind."""
        run = wildcards.run
        tables = self._model_tables(run, self.base_model(run))
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
        return self._model_tables(wildcards.run, self.second_model(wildcards))

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


def edge_path(run: str, model: str, tasks: list[str], suffix: str) -> str:
    """A file of the probes of some tasks, for all seeds."""
    return f"results/{run}/{ID}/probes/{model}/{'-'.join(tasks)}.{suffix}"


INPUTS = Tenney2019Inputs
