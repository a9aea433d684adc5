"""Inputs and parameters of the rules of Kovaleva et al. (2019): models of a family by task and seed, examples of its tasks."""

from __future__ import annotations

from typing import Any

from attention_atlas.corpora.glue import TASKS
from attention_atlas.studies.kovaleva2019.study import ID, drawn_task, family_models, frames_of, tasks_of
from attention_atlas.workflow.inputs.nested import Nested, leaves
from attention_atlas.workflow.inputs.shared import Files, Wildcards
from attention_atlas.workflow.inputs.study import Parameter, StudyInputs
from attention_atlas.workflow.lookups import Config, family_member, limit_of
from attention_atlas.workflow.paths import card_path, checkpoint_path, shard_paths, tokenizer_path

BY_TASK_AND_SEED = {
    "disabled": "results/{run}/kovaleva2019/disabled/{task}-{seed}.parquet",
    "measures": "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors",
}
"""Rule -> its file for a task and a seed."""


class Kovaleva2019Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    # --- the pre-trained model --------------------------------------------------------------------------------------

    def pretrained_card(self, wildcards: Wildcards) -> str:
        """Card of the pre-trained model."""
        return card_path(wildcards.run, self.base_model(wildcards.run))

    # --- the task in the path ---------------------------------------------------------------------------------------

    def _task_corpus(self, wildcards: Wildcards, task: str) -> str:
        return str(self.study_settings(wildcards)["tasks"][task])

    def _examples_of(self, wildcards: Wildcards, task: str, records: int | None = None) -> list[str]:
        base, corpus = self.base_model(wildcards.run), self._task_corpus(wildcards, task)
        return shard_paths(self.config, wildcards.run, base, corpus, "examples", "parquet", records)

    def task_examples(self, wildcards: Wildcards) -> list[str]:
        """Examples of the task, tokenised for the family's base model."""
        return self._examples_of(wildcards, wildcards.task)

    def task_limit(self, wildcards: Wildcards) -> int:
        """Records of the task that the run reads at most."""
        return limit_of(self.config, wildcards.run, self._task_corpus(wildcards, wildcards.task))

    def records(self, key: str) -> Parameter:
        """Number of records of the task, from this setting: `measured_records` or `ablated_records`."""

        def number(wildcards: Wildcards) -> int:
            return min(int(self.study_settings(wildcards)[key]), self.task_limit(wildcards))

        return number

    def examples_with(self, key: str) -> Files:
        """Examples of the task that contain this number of records."""

        def files(wildcards: Wildcards) -> list[str]:
            return self._examples_of(wildcards, wildcards.task, self.records(key)(wildcards))

        return files

    def is_regression(self, wildcards: Wildcards) -> bool:
        """Whether the labels of the task are scores."""
        return TASKS[wildcards.task].regression

    def disabling_actions(self, wildcards: Wildcards) -> list[str]:
        """Ways in which heads of the task's models are disabled."""
        compared = self.study_settings(wildcards)["ablations"]["compared"]
        return ["uniform", "zero", "mean"] if wildcards.task in compared else ["uniform"]

    # --- fine-tuned models ------------------------------------------------------------------------------------------

    def _task_models(self, wildcards: Wildcards) -> dict[str, tuple[str, int]]:
        """Model -> (state, seed) for the models of the task, fine-tuned from pre-trained and from random weights."""
        states = {"tuned": False, "random": True}
        return {
            model: (state, seed)
            for state, random in states.items()
            for seed, model in family_models(self.config, wildcards.run, wildcards.task, random).items()
        }

    def task_weights(self, wildcards: Wildcards) -> list[str]:
        """Weights of all models of the task."""
        return [checkpoint_path(wildcards.run, model) for model in self._task_models(wildcards)]

    def task_members(self, wildcards: Wildcards) -> list[dict[str, Any]]:
        """The models of the task, in the form that `predictions.predict` expects."""
        return [
            {"state": state, "seed": seed, "entry": self.weights_entry(wildcards.run, model)}
            for model, (state, seed) in self._task_models(wildcards).items()
        ]

    def _tuned_model(self, wildcards: Wildcards) -> str:
        return family_member(self.study_settings(wildcards)["family"], wildcards.task, wildcards.seed)

    def tuned_weights(self, wildcards: Wildcards) -> str:
        """Weights of the fine-tuned model of the task and seed in the path."""
        return checkpoint_path(wildcards.run, self._tuned_model(wildcards))

    def tuned_entry(self, wildcards: Wildcards) -> dict[str, Any]:
        """Its registry entry."""
        return self.weights_entry(wildcards.run, self._tuned_model(wildcards))

    # --- files of all tasks -----------------------------------------------------------------------------------------

    def predictions(self, wildcards: Wildcards) -> dict[str, str]:
        """Task -> its predictions."""
        run = wildcards.run
        return {task: f"results/{run}/{ID}/predictions/{task}.parquet" for task in tasks_of(self.config, run)}

    def by_task_and_seed(self, rule: str) -> Nested:
        """Task -> seed -> file of a rule, see `BY_TASK_AND_SEED`."""

        def files(wildcards: Wildcards) -> dict[str, dict[int, str]]:
            run = wildcards.run
            return {
                task: {
                    seed: BY_TASK_AND_SEED[rule].format(run=run, task=task, seed=seed)
                    for seed in family_models(self.config, run, task)
                }
                for task in tasks_of(self.config, run)
            }

        return files

    def files_of(self, rule: str) -> Files:
        """All files of a rule of tasks and seeds."""
        return leaves(self.by_task_and_seed(rule))

    def prediction_files(self, wildcards: Wildcards) -> list[str]:
        """Predictions of all tasks."""
        return list(self.predictions(wildcards).values())

    # --- labels -----------------------------------------------------------------------------------------------------

    def task_labels(self, wildcards: Wildcards) -> dict[str, Any]:
        """Task -> label."""
        model = self.base_model(wildcards.run)
        name = self.with_precision(f"{model}, fine-tuned ({self.study_settings(wildcards)['family']})")
        return {
            task: self.label_of(wildcards, model, corpus) | {"model": name}
            for task, corpus in tasks_of(self.config, wildcards.run).items()
        }

    def compared_labels(self, wildcards: Wildcards) -> dict[str, Any]:
        """The same, with the label of the frames if the run has a corpus of frames."""
        frames = {"frames": self.label("frames")(wildcards)} if frames_of(self.config, wildcards.run) else {}
        return self.task_labels(wildcards) | frames

    def recipe(self, wildcards: Wildcards) -> dict[str, Any]:
        """Choices of the run that the comparison reports; epochs: the fewest of any task."""
        chosen = self.study_settings(wildcards)
        family = self.config["families"][chosen["family"]]
        training = family["training"]
        epochs = min(family["tasks"][task].get("epochs", training["epochs"]) for task in chosen["tasks"])
        frames = frames_of(self.config, wildcards.run)
        return {key: training[key] for key in ("batch", "learning_rate", "warmup")} | {
            "epochs": epochs,
            "padded_length": chosen["padded"]["length"],
            "measured_records": chosen["measured_records"],
            "sentences": limit_of(self.config, wildcards.run, frames) if frames else 0,
        }

    def frame_table(self, wildcards: Wildcards) -> str | list[str]:
        """frames.tsv, if the run has a corpus of frames."""
        return self.study.path("frames.tsv", wildcards.run) if frames_of(self.config, wildcards.run) else []

    # --- Figure 1 ---------------------------------------------------------------------------------------------------

    def drawn_task(self, wildcards: Wildcards) -> str:
        """The task that Figure 1 draws from."""
        return drawn_task(tasks_of(self.config, wildcards.run))

    def _drawn_model(self, wildcards: Wildcards) -> str:
        return next(iter(family_models(self.config, wildcards.run, self.drawn_task(wildcards)).values()))

    def drawn_weights(self, wildcards: Wildcards) -> str:
        """Weights of the model whose maps Figure 1 draws."""
        return checkpoint_path(wildcards.run, self._drawn_model(wildcards))

    def drawn_entry(self, wildcards: Wildcards) -> dict[str, Any]:
        """Its registry entry."""
        return self.weights_entry(wildcards.run, self._drawn_model(wildcards))

    def drawn_examples(self, wildcards: Wildcards) -> list[str]:
        """The first shard of the examples that Figure 1 draws from."""
        return self._examples_of(wildcards, self.drawn_task(wildcards))[:1]

    def drawn_limit(self, wildcards: Wildcards) -> int:
        """Maximum number of these records that the run reads."""
        return limit_of(self.config, wildcards.run, self._task_corpus(wildcards, self.drawn_task(wildcards)))

    def drawn_label(self, wildcards: Wildcards) -> dict[str, Any]:
        """Label of the task that Figure 1 draws from."""
        label: dict[str, Any] = self.task_labels(wildcards)[self.drawn_task(wildcards)]
        return label

    # --- classes of maps --------------------------------------------------------------------------------------------

    def _patterns_model(self, wildcards: Wildcards) -> str:
        return str(self.study_settings(wildcards)["patterns"]["model"])

    def patterns_card(self, wildcards: Wildcards) -> str:
        """Card of the model whose maps were labelled."""
        return card_path(wildcards.run, self._patterns_model(wildcards))

    def patterns_tokenizer(self, wildcards: Wildcards) -> str:
        """Its tokenizer."""
        return tokenizer_path(wildcards.run, self._patterns_model(wildcards))

    def patterns_entry(self, wildcards: Wildcards) -> dict[str, Any]:
        """Its registry entry."""
        return self.weights_entry(wildcards.run, self._patterns_model(wildcards))


INPUTS = Kovaleva2019Inputs
