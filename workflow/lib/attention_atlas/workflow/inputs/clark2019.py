"""Inputs and parameters of the rules of Clark et al. (2019)."""

from __future__ import annotations

from typing import Any

from attention_atlas.studies.clark2019.study import ID
from attention_atlas.workflow.inputs.shared import File, Files, Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.lookups import Config

_DIVIDED = ("coreference", "coreference_windows")
"""Roles of the same documents, divided into windows in different ways."""


class Clark2019Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    # --- Figures 1 and 5 --------------------------------------------------------------------------------------------

    def drawn_shards(self, role: str, setting: str, folder: str = "attention", suffix: str = "safetensors") -> Files:
        """The shards that a figure draws from: the first, or all if a setting of the run names the examples."""

        def paths(wildcards: Wildcards) -> list[str]:
            shards = self.shards(role, folder, suffix)(wildcards)
            return shards[:1] if self.study_settings(wildcards)[setting] == "auto" else shards

        return paths

    def first_coreference(self, wildcards: Wildcards) -> list[str]:
        """Files for the coreference head of Figure 5: a shard, its examples, and Table 2 with the best head.

        Empty in a run without Table 2.
        """
        if "coreference" not in self.study_settings(wildcards):
            return []
        kinds = (("attention", "safetensors"), ("examples", "parquet"))
        first_shards = [self.first_shard("coreference", *kind)(wildcards) for kind in kinds]
        return [*first_shards, self.study.path("coreference.tsv", wildcards.run)]

    # --- Table 2 ----------------------------------------------------------------------------------------------------

    def name_lists(self, wildcards: Wildcards) -> list[str]:
        """Lists of masculine and feminine first names; empty where the run names none."""
        lists = self.study_settings(wildcards).get("first_names")
        return [lists[gender] for gender in ("masculine", "feminine")] if lists else []

    def divisions(self, wildcards: Wildcards) -> list[str]:
        """How the corpora of Table 2 divide documents into windows: the run's division, and the alternative."""
        settings = self.study_settings(wildcards)
        return [str(self.config["corpora"][settings[role]]["windows"]) for role in _DIVIDED]

    def window_limits(self, wildcards: Wildcards) -> list[int]:
        """Maximum number of windows of these corpora that the run uses."""
        return [self.limit(role)(wildcards) for role in _DIVIDED]

    # --- variants ---------------------------------------------------------------------------------------------------

    def variant_tables(self, wildcards: Wildcards) -> dict[str, dict[str, str]]:
        """Variant -> its tables by kind."""
        folder = f"results/{wildcards.run}/{ID}/variants"
        tables: dict[str, dict[str, str]] = {}
        for variant in self.study_settings(wildcards)["variants"]:
            tables[variant] = {"surface": f"{folder}/{variant}/surface.tsv"}
            if variant == "casing":
                tables[variant]["dependencies"] = f"{folder}/{variant}/dependencies.tsv"
        return tables

    def variant_files(self, wildcards: Wildcards) -> list[str]:
        """All tables of all variants."""
        return [path for tables in self.variant_tables(wildcards).values() for path in tables.values()]

    # --- probes -----------------------------------------------------------------------------------------------------

    def probe_table(self, suffix: str) -> File:
        """Results of the probes on the run's model, or the summary of their training."""
        return lambda wildcards: f"results/{wildcards.run}/{ID}/probes/{self.base_model(wildcards.run)}.{suffix}"

    def random_probe_tables(self, suffix: str) -> Files:
        """Results of the probes on randomly initialised models, or the summaries of their training."""

        def paths(wildcards: Wildcards) -> list[str]:
            models = self.study_settings(wildcards)["probes"]["random_models"]
            return [self.study.path(f"probes/{model}.{suffix}", wildcards.run) for model in models]

        return paths

    def training_summary(self, wildcards: Wildcards) -> list[str]:
        """Summary of the training of the probes; empty in a run without probes."""
        has_probes = "probe_training" in self.study_settings(wildcards)
        return [self.probe_table("training.tsv")(wildcards)] if has_probes else []

    def probe_recipe(self, wildcards: Wildcards) -> dict[str, Any]:
        """Hyperparameters of the probes."""
        settings = self.study_settings(wildcards)
        keys = ("batch", "epochs", "learning_rate", "order", "seeds", "development_share", "patience", "duplicates")
        return {key: settings["probes"][key] for key in keys} | {"development_seed": settings["seed"]}

    def vectors_encoding(self, wildcards: Wildcards) -> str:
        """Text encoding of the word vectors that the run names, if any."""
        corpus = self.study_settings(wildcards).get("vectors")
        return str(self.config["corpora"][corpus]["encoding"]) if corpus else ""


INPUTS = Clark2019Inputs
