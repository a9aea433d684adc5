"""Inputs and parameters of the rules of Štefánik's study: documents with keyphrases, and one tagger per seed."""

from __future__ import annotations

from typing import Any

from attention_atlas.studies.stefanik2021.names import SPLITS
from attention_atlas.studies.stefanik2021.study import ID, taggers
from attention_atlas.workflow.inputs.shared import Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.paths import card_path


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
        """Split -> maximum number of records to use."""
        return {split: self.limit(split)(wildcards) for split in SPLITS}

    def baseline_options(self, wildcards: Wildcards) -> dict[str, Any]:
        """Attributes of `BaselineOptions`."""
        settings = self.study_settings(wildcards)
        return {key: settings[key] for key in ("max_phrase_words", "resamples", "seed")}

    def fit_options(self, wildcards: Wildcards) -> dict[str, Any]:
        """Attributes of `Fit`: how heads are combined."""
        settings = self.study_settings(wildcards)
        return {key: settings[key] for key in ("folds", "l2_penalty", "fits", "permutations", "seed")}

    def encoder(self, wildcards: Wildcards) -> str:
        """Name of the model of the embedding ranker."""
        return str(self.study_settings(wildcards).get("sentence_encoder") or self.base_model(wildcards.run))

    def encoder_is_model(self, wildcards: Wildcards) -> bool:
        """Whether the embedding ranker uses the model whose attention is studied."""
        return self.encoder(wildcards) == self.base_model(wildcards.run)

    def encoder_entry(self, wildcards: Wildcards) -> dict[str, Any]:
        """Registry entry of the model of the embedding ranker."""
        return self.weights_entry(wildcards.run, self.encoder(wildcards))

    def encoder_card(self, wildcards: Wildcards) -> str:
        """Card of the model of the embedding ranker."""
        return card_path(wildcards.run, self.encoder(wildcards))

    def pairs_label(self, wildcards: Wildcards) -> dict[str, Any]:
        """Label of figures and pages of single pairs of sentences."""
        settings = self.study_settings(wildcards)
        label: dict[str, Any] = self.label("documents")(wildcards)
        return label | {"corpus": " / ".join(settings["pairs"][0]), "corpus_reference": "", "sample": False}

    def tagging_label(self, wildcards: Wildcards) -> dict[str, Any]:
        """Label of the taggers: their family, and the test documents."""
        settings = self.study_settings(wildcards)
        model = self.base_model(wildcards.run)
        seeds = len(taggers(self.config, wildcards.run))
        name = self.with_precision(f"{settings['family']} ({seeds} seeds)")
        return self.label_of(wildcards, model, settings["test"]) | {"model": name}


INPUTS = Stefanik2021Inputs
