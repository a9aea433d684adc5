"""Inputs and parameters of the rules of Michel et al. (2019): two experiments, and a model after several epochs of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_atlas.studies.michel2019.names import ANOTHER_CORPUS, HELDOUT_ROLES, SAME_FILE
from attention_atlas.studies.michel2019.pages import EXPERIMENTS
from attention_atlas.studies.michel2019.study import ID, pruning_step
from attention_atlas.workflow.inputs.nested import leaves
from attention_atlas.workflow.inputs.shared import Files, Wildcards
from attention_atlas.workflow.inputs.study import Parameter, StudyInputs
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.paths import shard_paths


class Michel2019Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    def of_experiment(self, build: Callable[[str], Parameter], part: str = "") -> Parameter:
        """`build(role)` for the main role of the experiment in the path, or for one of its additional roles."""
        return lambda wildcards: build(f"{wildcards.experiment}{part}")(wildcards)

    def of_heldout(self, build: Callable[[str], Parameter]) -> Parameter:
        """`build(role)` for the additional corpus of Tables 5 and 6, for the experiment in the path."""
        return lambda wildcards: build(HELDOUT_ROLES[wildcards.experiment])(wildcards)

    def scored_limit(self, role: str) -> Callable[[Wildcards], int]:
        """Number of examples of a role that importance is computed on."""

        def number(wildcards: Wildcards) -> int:
            bound = self.study_settings(wildcards)["importance"]["records"]
            return min(int(bound), self.limit(role)(wildcards))

        return number

    def scored_examples(self, role: str) -> Files:
        """Shards with the examples that importance is computed on."""

        def paths(wildcards: Wildcards) -> list[str]:
            records = self.scored_limit(role)(wildcards)
            pair = self.pair(wildcards, role)
            return shard_paths(self.config, wildcards.run, *pair, "examples", "parquet", records)

        return paths

    def each_experiment(self, pattern: str) -> Callable[[Wildcards], dict[str, str]]:
        """Experiment -> its file of the study."""
        path = f"results/{{run}}/{ID}/{pattern}"
        return lambda wildcards: {name: path.format(run=wildcards.run, experiment=name) for name in EXPERIMENTS}

    def files_of_experiments(self, pattern: str) -> Files:
        """The same as a list."""
        return leaves(self.each_experiment(pattern))

    def search_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """Options of the beam search."""
        settings = self.study_settings(wildcards)
        return {key: settings[key] for key in ("beams", "length_penalty")}

    def pruning_options(self, wildcards: Wildcards) -> dict[str, Any]:
        """Attributes of `PruningOptions`: how importance is computed, and the steps and orders of pruning."""
        settings = self.study_settings(wildcards)
        importance = {key: settings["importance"][key] for key in ("definition", "scaled", "batch")}
        pruning = {key: settings["pruning"][key] for key in ("random_orders", "recomputed")}
        role = wildcards.get("experiment", "dynamics")
        return {**importance, **pruning, "step": pruning_step(settings["pruning"], role)}

    def trained_epochs(self, wildcards: Wildcards) -> str:
        """Weights of the model of Figure 5 after several epochs."""
        model, _ = self.pair(wildcards, "dynamics")
        return f"results/{wildcards.run}/models/{model}/epochs.safetensors"

    def second_data(self, wildcards: Wildcards) -> dict[str, str]:
        """Experiment -> `ANOTHER_CORPUS` or `SAME_FILE`: relation of the second corpus of Figure 2 to the first."""
        sources = {
            name: [self.config["corpora"][self.pair(wildcards, role)[1]]["source"] for role in (name, f"{name}_other")]
            for name in EXPERIMENTS
        }
        return {name: SAME_FILE if first == second else ANOTHER_CORPUS for name, (first, second) in sources.items()}

    def translation_model(self, role: str) -> Callable[[Wildcards], str]:
        """The translation model of a role in words: its name, layers and heads, and what it is trained on in this run."""

        def words(wildcards: Wildcards) -> str:
            name, _ = self.pair(wildcards, role)
            model = self.config["models"][name]
            shape = f"{name}, {model['layers']} encoder and {model['layers']} decoder layers of {model['heads']} heads"
            training = model.get("training")
            if not training:
                return f"{shape}, with published weights"
            begun = self.config["models"][model["source"]["fine_tuned"]]
            start = "from random weights " if begun.get("init") == "random" else f"from {model['source']['fine_tuned']} "
            epochs = f"{training['epochs']} epoch{'s' if training['epochs'] != 1 else ''}"
            return f"{shape}, trained in this run {start}for {epochs} on {self.title_of(training['corpus'])}"

        return words

    def experiment_models(self, wildcards: Wildcards) -> dict[str, str]:
        """Experiment -> name of its model."""
        return {name: self.pair(wildcards, name)[0] for name in EXPERIMENTS}


INPUTS = Michel2019Inputs
