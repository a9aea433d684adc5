"""Inputs and parameters of the rules of Guan et al. (2020)."""

from __future__ import annotations

from typing import Any

from attention_atlas.studies.guan2020.study import ID, compared_models
from attention_atlas.workflow.inputs.shared import Files, Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.paths import shard_paths


class Guan2020Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    def sampled_shards(self, suffix: str, folder: str = "attention") -> Files:
        """Shards of the sampled records, for the model and corpus in the path."""

        def paths(wildcards: Wildcards) -> list[str]:
            samples = self.study_settings(wildcards)["samples"]
            place = wildcards.run, wildcards.model, wildcards.corpus
            return shard_paths(self.config, *place, folder, suffix, samples)

        return paths

    def sampled_records(self, wildcards: Wildcards) -> int:
        """Number of sampled records of the questions."""
        return min(int(self.study_settings(wildcards)["samples"]), self.limit("questions")(wildcards))

    def base_features(self, wildcards: Wildcards) -> str:
        """Features of the study's model."""
        return features_path(wildcards.run, *compared_models(self.config, wildcards.run)["squad"])

    def features_by_model(self, wildcards: Wildcards) -> dict[str, str]:
        """Name of a compared model -> its features, the pre-trained one first."""
        pairs = compared_models(self.config, wildcards.run)
        return {name: features_path(wildcards.run, *pair) for name, pair in pairs.items()}

    def compared_features(self, wildcards: Wildcards) -> list[str]:
        """Features of all compared models."""
        return list(self.features_by_model(wildcards).values())

    def compared_labels(self, wildcards: Wildcards) -> dict[str, Any]:
        """Name of a compared model -> label."""
        pairs = compared_models(self.config, wildcards.run)
        return {name: self.label_of(wildcards, *pair) for name, pair in pairs.items()}


def features_path(run: str, model: str, corpus: str) -> str:
    """Features of the heads of a model on a corpus."""
    return f"results/{run}/{ID}/features/{model}/{corpus}.safetensors"


INPUTS = Guan2020Inputs
