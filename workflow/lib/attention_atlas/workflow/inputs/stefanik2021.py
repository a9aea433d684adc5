"""Inputs and parameters of the rules of Štefánik's study: documents with keyphrases, and taggers, one a seed."""

from __future__ import annotations

from typing import Any

from attention_atlas.studies.stefanik2021.names import SPLITS
from attention_atlas.studies.stefanik2021.study import ID, taggers
from attention_atlas.workflow.inputs.shared import Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.runs import Config


class Stefanik2021Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    def removals_by_seed(self, wildcards: Wildcards) -> dict[str, str]:
        """Seed -> answers of its tagger."""
        run = wildcards.run
        return {str(seed): f"results/{run}/{ID}/removals/{model}.parquet" for seed, model in taggers(self.config, run).items()}

    def removal_files(self, wildcards: Wildcards) -> list[str]:
        """Answers of all taggers."""
        return list(self.removals_by_seed(wildcards).values())

    def split_limits(self, wildcards: Wildcards) -> dict[str, int]:
        """Part -> records that the run reads at most."""
        return {split: self.limit(split)(wildcards) for split in SPLITS}

    def fit_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """How heads are combined."""
        chosen = self.chosen(wildcards)
        return {key: chosen[key] for key in ("folds", "penalty", "fits", "permutations", "seed")}

    def pairs_label(self, wildcards: Wildcards) -> dict[str, Any]:
        """What figures and pages of single pairs of sentences say of them."""
        chosen = self.chosen(wildcards)
        label: dict[str, Any] = self.label("documents")(wildcards)
        return label | {"corpus": " / ".join(chosen["pairs"][0]), "corpus_reference": "", "sample": False}

    def tagging_label(self, wildcards: Wildcards) -> dict[str, Any]:
        """What pages say of the taggers: their family, and the test documents."""
        chosen = self.chosen(wildcards)
        model = self.base_model(wildcards.run)
        seeds = len(taggers(self.config, wildcards.run))
        return self.label_of(wildcards, model, chosen["test"]) | {"model": f"{chosen['family']} ({seeds} seeds)"}


INPUTS = Stefanik2021Inputs
