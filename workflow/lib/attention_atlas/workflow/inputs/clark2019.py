"""Inputs and parameters of the rules of Clark et al. (2019)."""

from __future__ import annotations

from typing import Any

from attention_atlas.studies.clark2019.study import ID
from attention_atlas.workflow.inputs.shared import File, Wildcards
from attention_atlas.workflow.inputs.study import StudyInputs
from attention_atlas.workflow.paths import shard_paths
from attention_atlas.workflow.runs import Config


class Clark2019Inputs(StudyInputs):
    """Input and parameter functions of the study."""

    def __init__(self, config: Config):
        super().__init__(config, ID)

    # --- Figure 5 ---------------------------------------------------------------------------------------------------

    def first_coreference(self, wildcards: Wildcards) -> list[str]:
        """What the coreference head is drawn from, in a run with such a corpus: shard, examples, Table 2."""
        run = wildcards.run
        if "coreference" not in self.chosen(wildcards):
            return []
        pair = self.pair(wildcards, "coreference")
        kinds = (("attention", "safetensors"), ("examples", "parquet"))
        firsts = [shard_paths(self.config, run, *pair, *kind)[0] for kind in kinds]
        return [*firsts, f"results/{run}/{ID}/table2.tsv"]

    # --- variants ---------------------------------------------------------------------------------------------------

    def variant_tables(self, wildcards: Wildcards) -> dict[str, dict[str, str]]:
        """Variant -> its tables by kind."""
        folder = f"results/{wildcards.run}/{ID}/variants"
        tables: dict[str, dict[str, str]] = {}
        for variant in self.chosen(wildcards)["variants"]:
            tables[variant] = {"surface": f"{folder}/{variant}/surface.tsv"}
            if variant == "casing":
                tables[variant]["relations"] = f"{folder}/{variant}/relations.tsv"
        return tables

    def variant_files(self, wildcards: Wildcards) -> list[str]:
        """All tables of all variants."""
        return [path for tables in self.variant_tables(wildcards).values() for path in tables.values()]

    # --- probes -----------------------------------------------------------------------------------------------------

    def probe_table(self, suffix: str) -> File:
        """What the probes of the run's model got right, or what they were trained on."""
        return lambda wildcards: f"results/{wildcards.run}/{ID}/probes/{self.base_model(wildcards.run)}.{suffix}"

    def random_probe_tables(self, wildcards: Wildcards) -> list[str]:
        """What the probes of models with random weights got right."""
        models = self.chosen(wildcards)["probes"]["random_models"]
        return [f"results/{wildcards.run}/{ID}/probes/{model}.tsv" for model in models]

    def training_summary(self, wildcards: Wildcards) -> list[str]:
        """What the probes were trained on; nothing where a run trains none."""
        trains = "probe_training" in self.chosen(wildcards)
        return [self.probe_table("training.tsv")(wildcards)] if trains else []

    def probe_recipe(self, wildcards: Wildcards) -> dict[str, Any]:
        """How probes are trained."""
        chosen = self.chosen(wildcards)["probes"]
        return {key: chosen[key] for key in ("batch", "epochs", "learning_rate", "order", "seeds")}

    def vectors_encoding(self, wildcards: Wildcards) -> str:
        """Encoding of the word vectors that the run names, if any."""
        corpus = self.chosen(wildcards).get("vectors")
        return str(self.config["corpora"][corpus]["encoding"]) if corpus else ""


INPUTS = Clark2019Inputs
